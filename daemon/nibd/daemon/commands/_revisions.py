"""Commit ids for what people write, such as `HEAD~2`, a tag or the first digits of an id."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from nibd.daemon.commands._failures import CommandError, Exit


def commit_of(revision: str, path: str) -> str:
    """The id of the commit that `revision` shows in the repository that holds `path`."""
    folder = path if Path(path).is_dir() else str(Path(path).parent)
    command = ["git", "rev-parse", "--quiet", "--verify", "--end-of-options", f"{revision}^{{commit}}"]
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1"}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    except FileNotFoundError as error:
        raise CommandError(f"{error.filename} is not there, so {revision!r} can't be looked up") from error
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        why = f": {said}" if said else ""
        raise CommandError(f"{revision!r} shows no commit in {folder}{why}", Exit.NO, "unknown_revision")
    return done.stdout.decode().strip()
