"""Python: ty (`ty server`). It learns of changes by watched-file events alone and opens no files.

`environment.python` is the caller's; ty reads an environment's files and runs no interpreter. Without one
it would look for `.venv` in the tree, for VIRTUAL_ENV and along PATH: the private tree's own `.venv` can only
be what is committed, and is read, not run. `extra-paths` come before the environment's editable installs,
which would lead into the checkout. Its copy of typeshed is unpacked into the cache folder (`ty_library`).
"""

from __future__ import annotations

from pathlib import Path

from nibd.repair.servers import ty_library
from nibd.repair.servers.driver import Driver, Guard, Holds, Installed, Launch, Missing, Options, Search
from nibd.repair.servers.programs import find_server, private_home

INSTALL = "pip install ty"


def find(search: Search) -> Installed | Missing:
    return find_server(search, "ty", INSTALL)


def prepare(installed: Installed, options: Options) -> None:
    ty_library.unpack(DRIVER, installed, options)


def launch(installed: Installed, root: Path, options: Options) -> Launch:
    settings: dict[str, object] = {"diagnosticMode": "off"}
    environment: dict[str, object] = {}
    if options.python is not None:
        environment["python"] = str(options.python)
    if options.search_paths:
        environment["extra-paths"] = [str(path) for path in options.search_paths]
    if environment:
        settings["configuration"] = {"environment": environment}
    limits = () if options.python else ("no Python environment: imports of installed packages lead nowhere",)
    env = private_home(options.cache) | {"PATH": "/nonexistent"}
    return Launch(
        argv=(str(installed.program), "server"),
        env=env,
        initialization={"logLevel": "warn", **settings},
        settings={"ty": settings},
        limits=limits,
    )


DRIVER = Driver(
    family="python",
    server="ty",
    languages=frozenset({"python"}),
    suffixes=(b".py", b".pyi", b".pyw"),
    install=INSTALL,
    find=find,
    launch=launch,
    guards=(
        Guard(
            "an interpreter in the tree (.venv/bin/python)", "ty reads environments, it runs no interpreter"
        ),
        Guard("a program on PATH (uv for script metadata)", "PATH names no folder that exists"),
    ),
    prepare=prepare,
    holds_at_once=Holds.ALL,
    language_ids={b".py": "python", b".pyi": "python", b".pyw": "python"},
    line_ends=("\n", "\r"),
)
