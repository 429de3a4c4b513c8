"""Where everything of one user lies, from an environment mapping.

The XDG base directory specification decides: a variable that is unset, empty or relative counts
for nothing and the default under the home folder holds. The home folder is HOME where that is
absolute, else what the user database says.

- configuration: `$XDG_CONFIG_HOME/nibd/config.toml`
- what must last, in `$XDG_STATE_HOME/nibd/`: the registry, markers, records of hooks, lock, log
- what only costs time to lose, in `$XDG_CACHE_HOME/nibd/`: every view

The socket's place has rules of its own, in `nibd.ipc.sockets`; `runtime_dir` is what they judge.
Nothing here makes or looks at a file.
"""

from __future__ import annotations

import pwd
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nibd.stores.types import RepositoryId


class PathsError(Exception):
    """There is no home folder to place anything in; the message says what to set."""


@dataclass(frozen=True, slots=True)
class Paths:
    """All places of the user `uid`. `runtime_dir` is XDG_RUNTIME_DIR as it was, `None` when unset."""

    uid: int
    home: Path
    config_home: Path
    state_home: Path
    cache_home: Path
    runtime_dir: str | None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], uid: int) -> Paths:
        """Raises PathsError when neither HOME nor the user database names a home folder."""
        home = _absolute(environment.get("HOME")) or _home_of(uid)
        return cls(
            uid=uid,
            home=home,
            config_home=_absolute(environment.get("XDG_CONFIG_HOME")) or home / ".config",
            state_home=_absolute(environment.get("XDG_STATE_HOME")) or home / ".local" / "state",
            cache_home=_absolute(environment.get("XDG_CACHE_HOME")) or home / ".cache",
            runtime_dir=environment.get("XDG_RUNTIME_DIR") or None,
        )

    @property
    def config_file(self) -> Path:
        return self.config_home / "nibd" / "config.toml"

    @property
    def state_dir(self) -> Path:
        return self.state_home / "nibd"

    @property
    def registry_file(self) -> Path:
        return self.state_dir / "registry.json"

    @property
    def markers_dir(self) -> Path:
        return self.state_dir / "markers"

    def marker(self, repository: RepositoryId) -> Path:
        """What the repository's hooks touch; all of its checkouts share them."""
        return self.markers_dir / repository

    @property
    def hook_records_dir(self) -> Path:
        return self.state_dir / "hooks"

    @property
    def lock_file(self) -> Path:
        """Held by the daemon while it runs: one a user."""
        return self.state_dir / "daemon.lock"

    @property
    def log_file(self) -> Path:
        return self.state_dir / "log" / "nibd.log"

    @property
    def cache_dir(self) -> Path:
        return self.cache_home / "nibd"

    @property
    def embeddings_db(self) -> Path:
        """Shared by all repositories of the user."""
        return self.cache_dir / "embeddings.db"

    @property
    def repositories_dir(self) -> Path:
        return self.cache_dir / "repositories"

    def repository_dir(self, repository: RepositoryId) -> Path:
        """The folder of one repository's views. Raises ValueError for an id that is no file name."""
        if repository in ("", ".", "..") or "/" in repository or "\0" in repository:
            raise ValueError(f"not the id of a repository: {repository!r}")
        return self.repositories_dir / repository


def _absolute(value: str | None) -> Path | None:
    return Path(value) if value and value.startswith("/") else None


def _home_of(uid: int) -> Path:
    try:
        listed = pwd.getpwuid(uid).pw_dir
    except KeyError as error:
        raise PathsError(f"no home folder: HOME is not set and uid {uid} has no entry; set HOME") from error
    home = _absolute(listed)
    if home is None:
        raise PathsError(f"no home folder: HOME is not set and that of uid {uid} is {listed!r}; set HOME")
    return home
