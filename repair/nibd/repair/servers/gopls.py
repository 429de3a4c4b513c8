"""Go: gopls, with the go command that it runs for `go list`.

Both are the caller's: PATH names one folder, made here, that holds `go` alone (`go_list`), so that there is
no git, no compiler and no gopackagesdriver to be found. Modules come from vendor folders or from a module
cache; nothing is fetched, and no line in go.mod brings another Go: `go_modules` has what happens where
modules are absent or a newer Go is asked for.

What Go's build leaves out (by constraints, by name, with cgo off) gopls knows no package for, unless nothing
else is in its folder. For what is left out on this system alone it finds one; for a tag that somebody has to
set it does not.

When modules are absent, each file that gopls hears of for the first time has it forget every package with an
import that leads nowhere: a new file could be what was missing. Such a package it loads again when it is
asked about, by a `go list` of its own, 0.2 s each. A search for symbols loads all of them by one.

One file of each package is opened: of packages that have none gopls keeps no types, and checks them again for
each question (10 a second instead of thousands). It is no test, if there is another: with its tests a package
is another one, and of the one without them no types would be kept. So is each file that may be left out of
its package on this machine: gopls finds out for which system it is. To open all of 1,021 files took 75 s, of
these 230 17 s.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from nibd.repair.servers import go_list
from nibd.repair.servers.driver import (
    Driver,
    Guard,
    Holds,
    Installed,
    Launch,
    LeavesOut,
    Missing,
    Options,
    Search,
)
from nibd.repair.servers.go_modules import GoModules, Modules, is_cached, module_files, overlay_flag
from nibd.repair.servers.programs import candidates, find_server, first_line, output_of, private_home
from nibd.stores.types import RepoPath

INSTALL = "go install golang.org/x/tools/gopls@latest"
_CLAUSE = re.compile(r"^package\s+(\w+)", re.MULTILINE)
_SYSTEM = re.compile(
    rb"_(aix|android|darwin|dragonfly|freebsd|hurd|illumos|ios|js|linux|nacl|netbsd|openbsd|plan9|solaris|wasip1"
    rb"|windows|zos|386|amd64|amd64p32|arm|arm64|loong64|mips\w*|ppc64\w*|riscv\w*|s390x?|sparc\w*|wasm)"
    rb"(_test)?\.go$"
)
"""What Go takes for a system or a processor in a file's name."""
_CGO = re.compile(r"""^\s*(?:import\s+)?["`]C["`]""", re.MULTILINE)
_NO_DIAGNOSTICS = {"diagnosticsTrigger": "Save", "diagnosticsDelay": "24h"}
"""Nobody saves here: else all packages are diagnosed while questions wait, which doubles what they take."""


def find(search: Search) -> Installed | Missing:
    found = find_server(search, "gopls", INSTALL, ("version",))
    if isinstance(found, Missing):
        return found
    for go in candidates(search, "go"):
        version = output_of(go, ("version",), search)
        if version:
            return Installed(found.program, found.version, {"go": go}, {"go": first_line(version)})
    return Missing("gopls needs the go command, which is not installed", "https://go.dev/dl")


def launch(installed: Installed, root: Path, options: Options) -> Launch:
    tools = options.cache / "bin"
    _place(tools / "go", go_list.command(str(installed.tools["go"])))
    files = tuple(module_files(root))
    env = private_home(options.cache) | {
        "PATH": f"{tools}:/usr/bin:/bin" if options.trusted else str(tools),
        "GOPATH": str(options.cache / "go"),
        "GOCACHE": str(options.cache / "go-build"),
        "GOMODCACHE": str(_module_cache(options)),
        "GOFLAGS": f"{_mod(root, files)} -buildvcs=false".strip(),
        "GOPROXY": "off",
        "GOSUMDB": "off",
        "GOVCS": "*:off",
        "GOENV": "off",
        "GOTOOLCHAIN": "local",
        "GOTELEMETRY": "off",
        "GOPACKAGESDRIVER": "off",
        "CGO_ENABLED": "1" if options.trusted else "0",
    }
    go, version = installed.tools["go"], _version(installed)
    modules = GoModules(go, version, root, options.cache / "go-mod", env, options.interrupt).find(files)
    if modules.overlay is not None:
        env["GOFLAGS"] += f" {overlay_flag(modules.overlay)}"
    settings = {"symbolScope": "workspace", "vulncheck": "Off", "verboseOutput": False} | _NO_DIAGNOSTICS
    argv = (str(installed.program), "serve")
    return Launch(argv, env, settings, {"gopls": settings}, _limits(root, options, modules))


def _place(program: Path, text: str) -> None:
    """Write a program, unless it is as it should be: a server may be running it."""
    if program.is_file() and not program.is_symlink() and program.read_text() == text:
        return
    program.parent.mkdir(parents=True, exist_ok=True)
    made = program.with_name(f"{program.name}.new")
    made.write_text(text)
    made.chmod(0o700)
    made.replace(program)


def group_of(path: RepoPath, text: str) -> tuple[bytes, str] | None:
    """A file's package: its folder and the name that it says. `None`: it may not be in its package here."""
    clause = _CLAUSE.search(text)
    if clause is None or may_be_left_out(path, text):
        return None
    return path.rpartition(b"/")[0], clause[1]


def stands(path: RepoPath) -> bool:
    """A test is in its package's build for tests alone; all else is in both builds."""
    return not path.endswith(b"_test.go")


def may_be_left_out(path: RepoPath, text: str) -> bool:
    """Whether something in the file or its name can keep it out of its package."""
    _, *found = conditions(text)
    return bool(found or _SYSTEM.search(path) or path.rpartition(b"/")[2].startswith((b"_", b".")))


def conditions(text: str) -> tuple[str, ...]:
    """What a file's text says of when it is built: its package, constraints, and whether it uses cgo."""
    clause = _CLAUSE.search(text)
    head = text[: clause.start()] if clause else text
    constraints = (line.strip() for line in head.splitlines() if "//go:build" in line or "// +build" in line)
    return (clause[1] if clause else "", *constraints, *(("cgo",) if _CGO.search(text) else ()))


def _mod(root: Path, files: Sequence[Path]) -> str:
    """Of several modules some may be vendored: go chooses for each, and writes none of their files."""
    if not _is_vendored(root):
        return "-mod=readonly"
    return "-mod=vendor" if len(files) == 1 else ""


def _is_vendored(root: Path) -> bool:
    return (root / "vendor" / "modules.txt").is_file()


def has_module(installed: Installed, root: Path, options: Options, module: str, version: str) -> bool:
    """Of what is vendored it need not be in the module cache."""
    if _is_vendored(root):
        return True
    return is_cached(_module_cache(options), _version(installed), module, version)


def _module_cache(options: Options) -> Path:
    return options.go_modules or options.cache / "go-modules"


def _version(installed: Installed) -> str:
    """Of `go version go1.24.4 linux/amd64`."""
    words = installed.tool_versions.get("go", "").split()
    return words[2].removeprefix("go") if len(words) > 2 else ""


def _limits(root: Path, options: Options, modules: Modules) -> tuple[str, ...]:
    limits = list(modules.limits)
    if not any((root / name).is_file() for name in ("go.mod", "go.work")):
        limits.append("no go.mod or go.work at the top of the repository")
    return (*limits, *(() if options.trusted else ("cgo is off",)))


DRIVER = Driver(
    family="go",
    server="gopls",
    languages=frozenset({"go"}),
    suffixes=(b".go",),
    install=INSTALL,
    find=find,
    launch=launch,
    guards=(
        Guard("cgo (a C compiler with flags of the repository)", "CGO_ENABLED=0, no compiler on PATH"),
        Guard("a toolchain that go.mod or go.work names", "GOTOOLCHAIN=local, GOPROXY=off"),
        Guard("fetching modules, version control tools", "GOPROXY=off, GOVCS=*:off, no git on PATH"),
        Guard("-toolexec and the like from a go.env file", "GOENV=off, GOFLAGS set here"),
        Guard("a gopackagesdriver in the tree or on PATH", "GOPACKAGESDRIVER=off"),
        Guard("go.mod rewritten while it is read", "-mod=readonly or -mod=vendor"),
    ),
    configuration=(b"go.mod", b"go.sum", b"go.work", b"modules.txt"),
    holds_at_once=Holds.ALL,
    opens_files=True,
    group_of=group_of,
    stands=stands,
    nothing_found=("no identifier found", "no object found", "failed to resolve import"),
    doubts_nothing=True,
    leaves_out=LeavesOut(
        "no package metadata for file",
        may_be_left_out,
        "by build constraints, cgo or names that go passes over",
    ),
    has_package=has_module,
    loads_by=("workspace/symbol", {"query": "'no symbol"}),
    language_ids={b".go": "go"},
)
