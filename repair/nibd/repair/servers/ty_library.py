"""Has ty unpack its own copy of typeshed before it is asked anything else.

ty carries the stubs of the standard library in its program, and writes each into its cache when a location in
it is first asked for. Two requests at once for the same stub race: the one that finds the file just created
drops the location (of 4,100 requests for 690 modules 3 to 12 came back empty, in every run), and a stub
may be read before all of it is written. So once for each cache all modules are asked for, one at a time.

Which modules there are is read from the program, where the names of the packed files stand in plain; the
names that this Python knows are asked for as well. Asking for one that isn't there does no harm.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from nibd.repair.servers.driver import Driver, Installed, Options
from nibd.repair.servers.errors import ServerFailed
from nibd.repair.servers.server import LanguageServer
from nibd.stores.types import RepoPath

_PACKED = re.compile(rb"stdlib/((?:\w+/)*\w+)\.pyi")
_VERSIONS = ("3.15", "3.14", "3.8")
"""Of Python: what came late and what is gone. One that ty does not know yet costs a start of it."""
_FILE = RepoPath(b"library.py")


def unpack(driver: Driver, installed: Installed, options: Options) -> None:
    """Once for each version of ty and cache. Raises ServerFailed when ty doesn't live to the end of it."""
    done = options.cache / f"library-{installed.version.replace('/', '_')}"
    if done.exists():
        return
    missing = modules(installed.program)
    for version in _VERSIONS:
        missing = _ask(driver, installed, options.cache, version, missing)
    done.touch()


def _ask(
    driver: Driver, installed: Installed, cache: Path, version: str, names: Sequence[str]
) -> Sequence[str]:
    """Those that this version of Python does not have."""
    folder = cache / f"library-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ty.toml").write_text(f'[environment]\npython-version = "{version}"\n', encoding="utf-8")
    lines = [f"import {name} as m{number}\n" for number, name in enumerate(names)]
    (folder / "library.py").write_text("".join(lines), encoding="utf-8")
    places = [(_FILE, number, len("import ") + name.rfind(".") + 1) for number, name in enumerate(names)]

    launch = driver.launch(installed, folder, Options(cache=cache))
    with LanguageServer.launched(driver, folder, launch, lambda: launch) as server:
        answers = server.definitions(places, window=1)
        if not server.is_alive:
            raise ServerFailed(f"{driver.server} ended while it unpacked its standard library")
    return [name for name, answer in zip(names, answers, strict=True) if not answer]


def modules(program: Path) -> Sequence[str]:
    """By name, sorted. Raises ServerFailed when the program can't be read."""
    try:
        content = program.read_bytes()
    except OSError as error:
        raise ServerFailed(f"{program} can't be read: {error.strerror}") from error
    packed = {found.decode().removesuffix("/__init__") for found in _PACKED.findall(content)}
    return sorted({path.replace("/", ".") for path in packed} | sys.stdlib_module_names)
