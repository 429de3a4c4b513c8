"""Asking Git where a checkout's hooks are and whose they are. Read-only, takes no lock.

The hooks folder is what Git itself would use (`core.hooksPath` included), with symlinks resolved. A hook
file is *refused*, with a reason, unless it is the user's private business in this one repository:

- in the Git directory: theirs to edit;
- in this work tree: only what is ignored and not tracked, so that no `git status` changes;
- anywhere else, or when the hooks path comes from the global or system configuration: never.

Git is asked in the user's environment, since it decides which configuration files count, but without the
variables a hook or an alias may have set about *another* repository.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from nibd.hooks.report import HooksError

_KEPT = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
"""Which configuration files the user's own Git commands read; all other GIT_* variables are dropped."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """A work tree and the repository it belongs to. All paths are absolute and without symlinks."""

    top: Path
    git_dir: Path
    common_dir: Path


@dataclass(frozen=True, slots=True)
class HooksFolder:
    """Where Git looks for this checkout's hooks. `refusal` says why nothing there may be edited."""

    checkout: Checkout
    path: Path
    in_work_tree: bool
    refusal: str | None

    def refusal_of(self, name: str) -> str | None:
        """Why this hook file may not be edited, `None` when it may."""
        if self.refusal or not self.in_work_tree:
            return self.refusal
        return _work_tree_refusal(self.checkout, self.path / name)


def open_checkout(path: Path) -> Checkout:
    """The checkout that `path` lies in. Raises `HooksError` for anything that is not a work tree."""
    top = Path(os.path.realpath(_ask(path, "rev-parse", "--show-toplevel")))
    git_dir, common_dir = (
        Path(os.path.realpath(top / _ask(top, "rev-parse", option)))
        for option in ("--absolute-git-dir", "--git-common-dir")
    )
    return Checkout(top, git_dir, common_dir)


def hooks_folder(checkout: Checkout) -> HooksFolder:
    """The folder Git takes hooks from, which need not exist."""
    # A relative core.hooksPath counts from the top of the work tree, so the question is asked there.
    asked = checkout.top / _ask(checkout.top, "rev-parse", "--git-path", "hooks")
    path = Path(os.path.realpath(asked))
    refusal = _setting_refusal(checkout)
    if refusal:
        return HooksFolder(checkout, path, False, refusal)
    in_work_tree, refusal = _place(checkout, path)
    if path.exists() and not path.is_dir():
        refusal = f"{path} is not a folder"
    return HooksFolder(checkout, path, in_work_tree, refusal)


def default_folder(checkout: Checkout) -> Path:
    """Where Git takes hooks from when core.hooksPath is not set."""
    return Path(os.path.realpath(checkout.common_dir / "hooks"))


def edit_refusal(checkout: Checkout, path: Path) -> str | None:
    """Why a hook file that Git need not use may not be edited on behalf of this checkout."""
    # The folder may have become a symlink since nibd wrote there.
    in_work_tree, refusal = _place(checkout, Path(os.path.realpath(path.parent)))
    return refusal or (_work_tree_refusal(checkout, path) if in_work_tree else None)


def _work_tree_refusal(checkout: Checkout, path: Path) -> str | None:
    """Why a file of the work tree may not be edited: it is tracked, or would show in `git status`."""
    tracked = _run(checkout.top, "--literal-pathspecs", "ls-files", "--error-unmatch", "--", str(path))
    if tracked.returncode == 0:
        return "the repository tracks it"
    # With the index, check-ignore takes the name for a pattern of tracked ones.
    ignored = _run(checkout.top, "check-ignore", "--no-index", "-q", "--", str(path))
    if ignored.returncode != 0:
        return "it is in the work tree and not ignored, so it would show in `git status`"
    return None


def _setting_refusal(checkout: Checkout) -> str | None:
    answer = _run(checkout.top, "config", "--show-scope", "-z", "--get", "core.hooksPath")
    if answer.returncode != 0:
        return None
    scope, _, value = answer.stdout.partition(b"\0")
    if scope in (b"global", b"system"):
        return f"core.hooksPath is set in the {scope.decode()} configuration, for every repository"
    if value == b"\0":
        return "core.hooksPath is empty, so Git runs no hooks here"
    return None


def _place(checkout: Checkout, folder: Path) -> tuple[bool, str | None]:
    """Whether the folder is in the checkout's work tree; and the refusal when it is in neither place."""
    holder = _work_tree_around(folder)
    for directory in (checkout.common_dir, checkout.git_dir):
        # A bare repository may hold the work trees themselves: such a one is not "the Git directory".
        if folder.is_relative_to(directory) and not (holder and holder.is_relative_to(directory)):
            return False, None
    if holder == checkout.top:
        return True, None if folder.exists() else f"the hooks folder {folder} does not exist"
    return False, f"the hooks folder {folder} is outside this repository and its work tree"


def _work_tree_around(folder: Path) -> Path | None:
    existing = next(place for place in (folder, *folder.parents) if place.is_dir())
    inside = _run(existing, "rev-parse", "--is-inside-work-tree")
    if inside.returncode != 0 or inside.stdout != b"true\n":
        return None
    return Path(os.path.realpath(_ask(existing, "rev-parse", "--show-toplevel")))


def _ask(folder: Path, *arguments: str) -> str:
    answer = _run(folder, *arguments)
    if answer.returncode != 0:
        message = os.fsdecode(answer.stderr).strip()
        raise HooksError(message or f"git {' '.join(arguments)} failed in {folder}")
    return os.fsdecode(answer.stdout.removesuffix(b"\n"))


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT
    }
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        return subprocess.run(
            # An fsmonitor is a program named by the repository's configuration; nothing here needs it.
            ["git", "-c", "core.fsmonitor=false", *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise HooksError(f"git can't be run in {folder}: {error.strerror}") from error
