"""Where a checkout is: its top, its Git directory, and the directory it shares with others.

Found as Git does, from any path inside, through `.git` folders and `.git` files (linked work trees,
submodules, `--separate-git-dir`), without starting a process. Also reads from the repository's
configuration the few settings that decide how it can be opened. Reads no environment: a caller that
runs inside a hook passes the checkout's path, not GIT_DIR.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pygit2

from nibd.repair.git.errors import BareRepository, GitError, NotARepository
from nibd.repair.git.types import CheckoutLocation

_GITFILE = b"gitdir: "
_MAX_GITFILE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Format:
    """What a repository's configuration says of how it is stored."""

    object_format: str
    ref_storage: str
    is_partial: bool


def discover(path: Path) -> CheckoutLocation:
    """The checkout that holds `path` (a file or folder), by real paths."""
    start = _existing_folder(path)
    for folder in (start, *start.parents):
        dot_git = folder / ".git"
        if dot_git.is_dir() and _is_git_dir(dot_git):
            return _checkout(folder, dot_git.resolve())
        if dot_git.is_file():
            return _checkout(folder, _follow_gitfile(dot_git))
        if _is_git_dir(folder):
            if _flag(_configuration(_common_dir(folder)), "core.bare"):
                raise BareRepository(f"{folder} is a bare repository: it has no work tree to follow")
            raise NotARepository(f"{path} is inside a Git directory, not in a work tree")
    raise NotARepository(f"no Git repository holds {path}")


def is_present(location: CheckoutLocation) -> bool:
    """Whether the Git directories are still where they were; false after a move or removal."""
    return _is_git_dir(location.git_dir)


def read_format(common_dir: Path) -> Format:
    """How the repository stores objects and refs, and whether a remote keeps some of its objects."""
    settings = _configuration(common_dir)
    promisors = [name for name in settings if name.startswith("remote.") and name.endswith(".promisor")]
    return Format(
        object_format=settings.get("extensions.objectformat", "sha1").lower(),
        ref_storage=settings.get("extensions.refstorage", "files").lower(),
        is_partial="extensions.partialclone" in settings or any(_flag(settings, name) for name in promisors),
    )


def _existing_folder(path: Path) -> Path:
    try:
        real = path.resolve(strict=True)
    except FileNotFoundError as error:
        raise NotARepository(f"{path} is not there") from error
    except RuntimeError as error:
        raise NotARepository(f"{path} can't be opened: it is a loop of symbolic links") from error
    except OSError as error:
        raise NotARepository(f"{path} can't be opened: {error.strerror or error}") from error
    return real if real.is_dir() else real.parent


def _is_git_dir(folder: Path) -> bool:
    """As Git decides: HEAD, and objects and refs here or in the common directory."""
    if not os.path.lexists(folder / "HEAD"):
        return False
    common = _common_dir(folder)
    return (common / "objects").is_dir() and (common / "refs").is_dir()


def _common_dir(git_dir: Path) -> Path:
    try:
        shared = (git_dir / "commondir").read_bytes()
    except OSError:  # not there: nothing is shared
        return git_dir
    return (git_dir / os.fsdecode(shared.rstrip(b"\r\n"))).resolve()


def _follow_gitfile(dot_git: Path) -> Path:
    try:
        with dot_git.open("rb") as file:
            text = file.read(_MAX_GITFILE_BYTES)
    except OSError as error:
        raise NotARepository(f"{dot_git} can't be read: {error}") from error
    if not text.startswith(_GITFILE):
        raise NotARepository(f"{dot_git} is neither a Git directory nor names one")
    target = os.fsdecode(text.removeprefix(_GITFILE).rstrip(b"\r\n"))
    git_dir = (dot_git.parent / target).resolve()
    if not _is_git_dir(git_dir):
        raise NotARepository(f"{dot_git} names {git_dir}, where no Git directory is")
    return git_dir


def _checkout(top: Path, git_dir: Path) -> CheckoutLocation:
    common = _common_dir(git_dir).resolve()
    if git_dir == common:  # a linked work tree is where its .git file is, whatever the main one is
        settings = _configuration(common)
        elsewhere = settings.get("core.worktree")
        if elsewhere is not None:
            top = (git_dir / elsewhere).resolve()
        elif _flag(settings, "core.bare"):
            raise BareRepository(f"{top} is a bare repository: it has no work tree to follow")
    return CheckoutLocation(top, git_dir, common)


def _configuration(common_dir: Path) -> dict[str, str]:
    """The repository's own settings, names in lower case but for the middle part."""
    settings: dict[str, str] = {}
    for name in ("config", "config.worktree"):
        file = common_dir / name
        if name == "config.worktree" and not _flag(settings, "extensions.worktreeconfig"):
            break
        if not file.is_file():
            continue
        try:
            settings.update({entry.name: entry.value or "true" for entry in pygit2.Config(str(file))})
        except (pygit2.GitError, OSError, UnicodeDecodeError) as error:
            raise GitError(f"{file} can't be read: {error}") from error
    return settings


def _flag(settings: dict[str, str], name: str) -> bool:
    return settings.get(name, "false").lower() in {"true", "yes", "on", "1"}
