"""The git executable: for what libgit2 can't open or read, and to judge what may be read at all.

HEAD and revisions come from short commands here, objects from the children of `catfile`. Each runs
with an environment of its own: nothing that a hook exported shows it another repository, it takes no
optional lock, ignores replace refs, and never fetches a promised object. (GIT_NO_LAZY_FETCH is known
from Git 2.44 on; before that the empty list of allowed protocols makes such a fetch fail at once.)
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from nibd.repair.git.errors import DubiousOwnership, GitError, NotARepository, UnknownRevision, Unsupported
from nibd.repair.git.types import CheckoutLocation, Head
from nibd.stores.types import CommitId

REFTABLE_SINCE = (2, 45)
SHA256_SINCE = (2, 29)
_KEPT = frozenset({"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH"})
_OURS = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


def scrubbed(environment: Mapping[str, str]) -> dict[str, str]:
    """`environment` without what could point git elsewhere, and with what keeps it harmless."""
    kept = {
        name: value
        for name, value in environment.items()
        if (not name.startswith("GIT_") or name in _KEPT) and name != "LANGUAGE"
    }
    return kept | _OURS


def run_git(
    executable: Path, *args: str | Path, cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run git to its end. Exit statuses are the caller's to judge."""
    try:
        return subprocess.run(
            [executable, *args],
            cwd=cwd or "/",
            env=scrubbed(os.environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        if cwd is not None and not cwd.is_dir():
            raise NotARepository(f"{cwd} is gone") from error
        raise Unsupported(f"git can't be run: {error}") from error


def find_git(executable: str | Path | None) -> Path | None:
    """The executable to use: the one named, else the one on PATH; `None` when there is none."""
    found = shutil.which(executable or "git")
    return Path(found) if found else None


def git_version(executable: Path) -> tuple[int, ...]:
    """Such as (2, 39, 5)."""
    out = run_git(executable, "version").stdout
    found = re.match(rb"git version (\d+(?:\.\d+)*)", out)
    if found is None:
        raise Unsupported(f"{executable} does not tell its version: {out!r}")
    return tuple(int(part) for part in found[1].split(b"."))


def require_git(executable: Path | None, since: tuple[int, int], what: str) -> Path:
    """The executable, if it is there and new enough for `what`; else `Unsupported`."""
    needed = ".".join(map(str, since))
    if executable is None:
        raise Unsupported(f"{what} needs git {needed} or newer, and no git was found: install it")
    version = git_version(executable)
    if version < since:
        have = ".".join(map(str, version))
        raise Unsupported(f"{what} needs git {needed} or newer, and {executable} is {have}: upgrade it")
    return executable


def check_readable(executable: Path, location: CheckoutLocation) -> None:
    """Let git judge owner and format of a checkout; raise in our words what it objects to."""
    # Where core.worktree names another place, only the Git directory leads to the repository.
    within = location.work_tree if (location.work_tree / ".git").exists() else location.git_dir
    done = run_git(executable, "rev-parse", "--git-dir", cwd=within)
    if done.returncode == 0:
        return
    said = done.stderr.decode(errors="backslashreplace").strip()
    if "dubious ownership" in said or "unsafe repository" in said:
        raise DubiousOwnership(
            f"{location.work_tree} is owned by another user. If you trust it: "
            f"git config --global --add safe.directory {location.work_tree}"
        )
    if "extension" in said or "repo version" in said:
        version = ".".join(map(str, git_version(executable)))
        raise Unsupported(f"git {version} can't read this repository ({said}): upgrade git")
    if "not a git repository" in said:
        raise NotARepository(said)
    raise GitError(said)


class CommandRefs:
    """HEAD and revisions, asked of git each time."""

    def __init__(self, executable: Path, location: CheckoutLocation) -> None:
        self._executable = executable
        self._location = location

    def _git(self, *args: str) -> subprocess.CompletedProcess[bytes]:
        return run_git(self._executable, f"--git-dir={self._location.git_dir}", *args)

    def head(self) -> Head:
        symbolic = self._git("symbolic-ref", "-q", "HEAD")
        if symbolic.returncode not in {0, 1}:
            raise GitError(symbolic.stderr.decode(errors="backslashreplace").strip())
        name = symbolic.stdout.rstrip(b"\n")
        # The ref that HEAD named, not HEAD again: it may have moved to another branch since.
        ref = os.fsdecode(name) if name else "HEAD"
        found = self._git("rev-parse", "--verify", "--end-of-options", ref)
        said = found.stderr.decode(errors="backslashreplace").strip()
        if found.returncode != 0 and (not name or "broken" in said or "bad" in said):
            raise GitError(f"HEAD can't be read: {said}")
        commit = CommitId(found.stdout.decode().strip()) if found.returncode == 0 else None
        return Head(commit, short_branch(name) if name else None)

    def resolve(self, revision: str) -> CommitId:
        done = self._git("rev-parse", "-q", "--verify", "--end-of-options", f"{revision}^{{commit}}")
        if done.returncode != 0:
            raise UnknownRevision(f"{revision!r} names no commit")
        return CommitId(done.stdout.decode().strip())


def short_branch(ref: bytes) -> str:
    """A branch for people to read."""
    return ref.removeprefix(b"refs/heads/").decode(errors="backslashreplace")
