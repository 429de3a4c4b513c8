"""Finding programs and asking them for their version, without ever running one of the repository's."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from nibd.repair.private_tree import stamp
from nibd.repair.servers.driver import Installed, Missing, Search

VERSION_TIMEOUT_S = 30.0
SYSTEM_FOLDERS = ("/usr/bin", "/bin")
_versions: dict[tuple[object, ...], str | None] = {}


def candidates(search: Search, name: str) -> Iterator[Path]:
    """Executable files called `name`, in the order of the search; links are not resolved."""
    forbidden = [folder.resolve() for folder in search.forbidden]
    folders = (*search.folders, *map(Path, filter(None, search.path.split(":"))))
    for folder in dict.fromkeys(folders):
        program = folder / name
        if not folder.is_absolute() or not program.is_file() or not os.access(program, os.X_OK):
            continue
        if not any(place.is_relative_to(bad) for place in (folder, program.resolve()) for bad in forbidden):
            yield program


def output_of(program: Path, arguments: tuple[str, ...], search: Search) -> str | None:
    """What a program that was found prints, run at `/`; None when it fails.

    Kept while the file is the same, and what says which program it stands for (`deciding`). At `/`, since
    version managers look for a repository's wishes from the working folder upwards.
    """
    status, decided = program.stat(), [stamp(path) for path in deciding(search)]
    key = (program, status.st_mtime_ns, status.st_size, arguments, *decided)
    if key not in _versions:
        _versions[key] = _run((str(program), *arguments), _environment(search))
    return _versions[key]


def deciding(search: Search) -> list[Path]:
    """What says which toolchain a proxy of rustup's stands for: its settings, and the toolchains it has."""
    home = search.rustup_home or (search.home / ".rustup" if search.home else None)
    return [home / "settings.toml", home / "toolchains"] if home else []


def _environment(search: Search) -> Mapping[str, str]:
    env = {"PATH": ":".join(SYSTEM_FOLDERS), "GOTOOLCHAIN": "local", "GOTELEMETRY": "off", "GOENV": "off"}
    homes = {"HOME": search.home, "RUSTUP_HOME": search.rustup_home}
    return env | {name: str(home) for name, home in homes.items() if home}


def _run(argv: tuple[str, ...], env: Mapping[str, str]) -> str | None:
    try:
        done = subprocess.run(
            argv,
            env=env,
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=VERSION_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None


def first_line(text: str) -> str:
    return text.partition("\n")[0].strip()


def find_server(
    search: Search, name: str, install: str, arguments: tuple[str, ...] = ("--version",)
) -> Installed | Missing:
    """The first program called `name` that tells its version."""
    broken = None
    for program in candidates(search, name):
        version = output_of(program, arguments, search)
        if version:
            return Installed(program, first_line(version))
        broken = broken or program
    reason = f"{broken} does not run" if broken else f"{name} is not installed"
    return Missing(reason, install)


def private_home(cache: Path) -> dict[str, str]:
    """HOME and the XDG folders of a server, inside its cache; made where missing."""
    variables = {"HOME": "home", "XDG_CONFIG_HOME": "config", "XDG_CACHE_HOME": "cache",
                 "XDG_DATA_HOME": "data", "XDG_STATE_HOME": "state", "TMPDIR": "tmp"}  # fmt: skip
    env = {variable: str(cache / name) for variable, name in variables.items()}
    for folder in env.values():
        Path(folder).mkdir(parents=True, exist_ok=True)
    return env | {"LANG": "C.UTF-8"}
