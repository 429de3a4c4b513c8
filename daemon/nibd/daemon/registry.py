"""The checkouts that a user has given to nibd, in one JSON file that is replaced whole.

Repositories are told apart by their Git common directory and checkouts by their Git directory, both
as real paths: linked work trees share a repository, two clones do not. The file is written by the
daemon alone.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from nibd.stores.types import CheckoutId, RepositoryId

FORMAT = 1
_ADVICE = {
    errno.ENOSPC: "make room on that disk",
    errno.EDQUOT: "make room within your quota there",
    errno.EROFS: "let that disk be written to",
}


class RegistryError(Exception):
    """The registry cannot be read or written; the message names the file and what to do."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """A registered checkout; paths are real and absolute. `added_at` in seconds since the epoch."""

    id: CheckoutId
    repository: RepositoryId
    work_tree: Path
    git_dir: Path
    common_dir: Path
    added_at: float

    @property
    def name(self) -> str:
        return self.work_tree.name


def repository_id(common_dir: Path) -> RepositoryId:
    """Readable and unique: the folder's name and a digest of its real path."""
    name = common_dir.parent.name if common_dir.name == ".git" else common_dir.stem
    safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in name)[:40] or "repository"
    return RepositoryId(f"{safe}-{_digest(common_dir)}")


def checkout_id(git_dir: Path) -> CheckoutId:
    return CheckoutId(_digest(git_dir))


def _digest(path: Path) -> str:
    return hashlib.blake2b(os.fsencode(path), digest_size=6).hexdigest()


class Registry:
    """Not thread-safe: used by the daemon's event loop alone."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._checkouts = _load(path)

    @property
    def checkouts(self) -> list[Checkout]:
        """In the order in which they were added."""
        return list(self._checkouts.values())

    def of_repository(self, repository: RepositoryId) -> list[Checkout]:
        return [checkout for checkout in self.checkouts if checkout.repository == repository]

    def get(self, checkout: CheckoutId) -> Checkout | None:
        return self._checkouts.get(checkout)

    def containing(self, path: Path) -> Checkout | None:
        """The innermost registered checkout that `path` (real, absolute) lies in."""
        found = [c for c in self.checkouts if path == c.work_tree or c.work_tree in path.parents]
        return max(found, key=lambda c: len(c.work_tree.parts), default=None)

    def add(self, checkout: Checkout) -> bool:
        """Register; `False` when it was registered as it is."""
        known = self._checkouts.get(checkout.id)
        if known and known.work_tree == checkout.work_tree:
            return False
        self._replace(self._checkouts | {checkout.id: checkout})
        return True

    def remove(self, checkout: CheckoutId) -> None:
        self._replace({key: value for key, value in self._checkouts.items() if key != checkout})

    def _replace(self, checkouts: dict[CheckoutId, Checkout]) -> None:
        """In the file first: what could not be written did not happen."""
        data = {"format": FORMAT, "checkouts": [_encode(checkout) for checkout in checkouts.values()]}
        temporary = self._path.with_suffix(".new")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with temporary.open("w") as file:
                json.dump(data, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._path)
        except OSError as error:
            advice = _ADVICE.get(error.errno or 0, "see to it that this folder and file can be written")
            raise RegistryError(
                f"{self._path} cannot be written: {error.strerror}; {advice}, then try again"
            ) from error
        self._checkouts = checkouts


def _load(path: Path) -> dict[CheckoutId, Checkout]:
    try:
        data = json.loads(path.read_text())
        if data["format"] != FORMAT:
            raise RegistryError(f"{path} has format {data['format']}; this nibd reads {FORMAT}")
        found = [_decode(item) for item in data["checkouts"]]
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RegistryError(
            f"{path} cannot be read ({error}); move it away and run `nibd init` in each checkout again"
        ) from error
    return {checkout.id: checkout for checkout in found}


def _encode(checkout: Checkout) -> dict[str, object]:
    # Paths need not be UTF-8: JSON carries their undecodable bytes as escaped surrogates.
    return {key: str(value) if isinstance(value, Path) else value for key, value in asdict(checkout).items()}


def _decode(item: dict[str, object]) -> Checkout:
    return Checkout(
        CheckoutId(str(item["id"])),
        RepositoryId(str(item["repository"])),
        Path(str(item["work_tree"])),
        Path(str(item["git_dir"])),
        Path(str(item["common_dir"])),
        float(str(item["added_at"])),
    )
