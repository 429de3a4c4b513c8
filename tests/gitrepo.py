"""Real Git repositories for tests, made by the git executable with fixed dates.

    repo = Repo(tmp_path / "repo")
    repo.write("pkg/a.py", "x = 1\n")
    first = repo.commit("first")          # stages everything, returns the commit's id
    repo.git("checkout", "-q", "-b", "topic")

Each commit through one `Repo` is a minute later than the one before, so equal steps give equal ids
on every machine and two commits in a row never share one. Paths and data may be `str` (UTF-8) or
`bytes`, so that odd names are as easy as plain ones.
"""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

START_SECONDS = 1_704_164_645
"""2024-01-02T03:04:05Z, the date of a repository's first commit."""
SCRUBBED = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")


def run_git(
    *args: str | bytes | Path,
    cwd: str | bytes | Path | None = None,
    data: bytes | None = None,
    check: bool = True,
) -> subprocess.CompletedProcess[bytes]:
    """Run git, keep its output. With `check` a failure raises with git's own words."""
    environment = {name: value for name, value in os.environ.items() if name not in SCRUBBED}
    done = subprocess.run(
        [b"git", *(os.fsencode(each) for each in args)],
        cwd=cwd,
        env=environment,
        input=data if data is not None else b"",
        capture_output=True,
        check=False,
    )
    if check and done.returncode != 0:
        raise AssertionError(f"git {args!r} exited {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done


class Repo:
    """One work tree (main or linked) of a repository.

    `path` is made and initialised unless it already holds a repository; `init` holds more arguments
    for `git init`, such as `--object-format=sha256`.
    """

    def __init__(self, path: Path, *init: str | Path) -> None:
        self.path = path
        self.seconds = START_SECONDS
        path.mkdir(parents=True, exist_ok=True)
        if not (path / ".git").exists():
            run_git("init", "-q", *init, path)

    @classmethod
    def clone(cls, source: Repo | Path | str, path: Path, *options: str) -> Repo:
        """Clone `source` (a `file://` URL where depth or filter are to count) to `path`."""
        run_git("clone", "-q", *options, source.path if isinstance(source, Repo) else source, path)
        return cls(path)

    def git(self, *args: str | bytes | Path, data: bytes | None = None, check: bool = True) -> str:
        """Run git in this work tree; its output as text without the last line break."""
        out = self.git_bytes(*args, data=data, check=check)
        return out.decode("utf-8", "surrogateescape").removesuffix("\n")

    def git_bytes(self, *args: str | bytes | Path, data: bytes | None = None, check: bool = True) -> bytes:
        """Run git in this work tree; its output as it came."""
        return run_git(*args, cwd=self.path, data=data, check=check).stdout

    def file(self, path: str | bytes) -> Path:
        """Where `path`, relative to the top, is on disk."""
        return self.path / os.fsdecode(path)

    def write(self, path: str | bytes, data: str | bytes = b"", *, executable: bool = False) -> Path:
        """Write a file and its folders, replacing what was there."""
        target = self.file(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_symlink():
            target.unlink()
        target.write_bytes(data.encode() if isinstance(data, str) else data)
        mode = stat.S_IMODE(target.stat().st_mode)
        target.chmod(mode | 0o111 if executable else mode & ~0o111)
        return target

    def symlink(self, path: str | bytes, target: str | bytes) -> Path:
        """Make `path` a symbolic link, replacing what was there."""
        link = self.file(path)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(os.fsdecode(target))
        return link

    def remove(self, path: str | bytes) -> None:
        """Delete a file from the work tree; the next commit records it."""
        self.file(path).unlink()

    def move(self, old: str | bytes, new: str | bytes) -> None:
        """Rename a file in the work tree; the next commit records it."""
        self.file(new).parent.mkdir(parents=True, exist_ok=True)
        self.file(old).rename(self.file(new))

    def commit(self, message: str = "change", *options: str) -> str:
        """Stage everything and commit it (also when nothing changed); the commit's id.

        Hooks run as usual. `options` such as `--amend` are passed on.
        """
        self.git("add", "-A")
        return self.commit_staged(message, *options)

    def commit_staged(self, message: str = "change", *options: str) -> str:
        """Commit what the index holds; the commit's id."""
        when = f"{self.seconds} +0000"
        self.seconds += 60
        environment = {**os.environ, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
        for name in SCRUBBED:
            environment.pop(name, None)
        done = subprocess.run(
            ["git", "commit", "-q", "--allow-empty", "-m", message, *options],
            cwd=self.path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        return self.head()

    def head(self) -> str:
        """The id of the commit that HEAD shows."""
        return self.git("rev-parse", "HEAD")

    def tree(self, revision: str = "HEAD") -> str:
        """The id of a revision's tree."""
        return self.git("rev-parse", f"{revision}^{{tree}}")

    def blob(self, path: str, revision: str = "HEAD") -> str:
        """The id of a file's blob at a revision."""
        return self.git("rev-parse", f"{revision}:{path}")

    def worktree(self, path: Path, *options: str) -> Repo:
        """Add a linked work tree (`options`: `-b NAME`, `--detach`, a revision)."""
        self.git("worktree", "add", "-q", path, *options)
        linked = Repo(path)
        linked.seconds = self.seconds + 7
        return linked
