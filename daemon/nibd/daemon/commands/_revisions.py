"""Commit ids for what people write, such as `HEAD~2`, a tag or the first digits of an id."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from nibd.daemon.commands._failures import CommandError, Exit


def commit_of(revision: str, path: str) -> str:
    """The id of the commit that `revision` names in the repository that holds `path`, which may be gone.

    Raises CommandError: there is no such commit, which is what was typed; or no repository, or no git.
    """
    folder = next(str(each) for each in (Path(path), *Path(path).parents) if each.is_dir())
    try:
        done = _git(folder, "rev-parse", "--quiet", "--verify", "--end-of-options", f"{revision}^{{commit}}")
        if done.returncode == 0:
            return done.stdout.decode().strip()
        found = _git(folder, "rev-parse", "--show-toplevel")
    except FileNotFoundError as error:
        raise CommandError(
            f"{error.filename} is not installed, so {revision!r} can't be looked up"
        ) from error
    if found.returncode != 0:
        message = f"{revision!r} can't be looked up in {folder}: {_said(found)}"
        raise CommandError(message, Exit.ENVIRONMENT, "git")
    why = f": {_said(done)}" if _said(done) else ""
    top = os.fsdecode(found.stdout.removesuffix(b"\n"))
    raise CommandError(f"{revision!r} names no commit in {top}{why}", Exit.USAGE, "unknown_revision")


def _git(folder: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1"}
    return subprocess.run(["git", *arguments], cwd=folder, env=environment, capture_output=True, check=False)


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    return done.stderr.decode(errors="replace").strip()
