"""Where language servers, and the modules that they read, are looked for on this machine.

The daemon reads that from its settings and environment, once; navigators and verifiers are sent it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nibd.daemon.settings import RelationsSettings
from nibd.repair.private_tree import ModuleCaches
from nibd.repair.servers.driver import Search
from nibd.repair.servers.programs import deciding


@dataclass(frozen=True, slots=True)
class ServerPlaces:
    """`folders` come before those of `path`. `home` is the user's.

    `go_modules` and `cargo_home` are where Go and Cargo keep modules for all checkouts, `rustup_home` where
    rustup keeps toolchains, empty for its own place in `home`.
    """

    path: str
    folders: tuple[str, ...]
    home: str
    go_modules: str
    cargo_home: str
    rustup_home: str = ""

    @classmethod
    def of(cls, settings: RelationsSettings, environment: Mapping[str, str]) -> ServerPlaces:
        home = Path(environment.get("HOME") or Path.home())
        chosen = (settings.servers,) if settings.servers else ()
        return cls(
            path=environment.get("PATH", ""),
            folders=(*chosen, str(Path(sys.executable).parent)),
            home=str(home),
            go_modules=str(_go_modules(environment, home)),
            cargo_home=environment.get("CARGO_HOME") or str(home / ".cargo"),
            rustup_home=environment.get("RUSTUP_HOME", ""),
        )

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> ServerPlaces:
        return cls(**{**params, "folders": tuple(params["folders"])})

    def as_params(self) -> dict[str, Any]:
        return {**asdict(self), "folders": list(self.folders)}

    def search(self, *forbidden: Path) -> Search:
        """Where programs are looked for; never in `forbidden`."""
        return Search(
            path=self.path,
            folders=tuple(map(Path, self.folders)),
            forbidden=forbidden,
            home=Path(self.home),
            rustup_home=Path(self.rustup_home) if self.rustup_home else None,
        )

    def caches(self) -> ModuleCaches:
        return ModuleCaches(Path(self.go_modules), Path(self.cargo_home))

    def watched(self) -> list[str]:
        """Where a server may appear, or another version of one."""
        path = [folder for folder in self.path.split(os.pathsep) if folder[:1] == "/"]
        return [*self.folders, *path, *map(str, deciding(self.search()))]


def _go_modules(environment: Mapping[str, str], home: Path) -> Path:
    """Where the go command keeps modules."""
    chosen = environment.get("GOMODCACHE")
    if chosen:
        return Path(chosen)
    first = environment.get("GOPATH", "").split(os.pathsep)[0]
    return (Path(first) if first else home / "go") / "pkg" / "mod"
