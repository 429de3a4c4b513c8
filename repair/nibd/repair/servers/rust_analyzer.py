"""Rust: rust-analyzer, with cargo and rustc of the caller's choice.

rust-analyzer runs `cargo metadata` and `rustc` in the tree. A repository can make both run its own code: by
`.cargo/config.toml` (rustc, wrappers, `[env]` with LD_PRELOAD), by a toolchain file that rustup's proxies
obey, by `rust-project.json` or `rust-analyzer.toml` (a toolchain, commands to run). So:

- cargo is a script of ours in the cache folder, which knows `metadata` and `--version` only and runs the real
  one at `/`: cargo looks for configuration from its working folder upwards, so it never sees the tree's;
- rustc and cargo are those of a toolchain's own folder, never rustup's proxies;
- what rustc, and cargo of the standard library, say to the same question is asked once in a server's life
  (`remembering`): it is told of each file that comes or goes, and then asks for all of it anew;
- the manifests are named (`linkedProjects`), so that nothing is discovered;
- build scripts, proc macros, checks and the like are off, unless `trusted`.
"""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

from nibd.repair.servers.driver import Driver, Guard, Installed, Launch, Missing, Options, Search
from nibd.repair.servers.programs import candidates, find_server, first_line, output_of, private_home
from nibd.repair.servers.remembering import remembering

INSTALL = "rustup component add rust-analyzer rust-src"
RUSTUP = "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh"
DEFAULT = "rustup default stable"
_SYSROOT_SOURCE = "lib/rustlib/src/rust/library"
_ANSWERS = "answers"
_NO_PROJECT: dict[str, list[str]] = {"crates": []}


def find(search: Search) -> Installed | Missing:
    found = find_server(search, "rust-analyzer", INSTALL)
    if isinstance(found, Missing):
        return found
    for rustc in candidates(search, "rustc"):
        sysroot = output_of(rustc, ("--print", "sysroot"), search)
        tools = {name: Path(sysroot) / "bin" / name for name in ("rustc", "cargo")} if sysroot else {}
        if tools.get("rustc") == rustc or (tools and all(map(_is_program, tools.values()))):
            tools.setdefault("cargo", rustc.with_name("cargo"))
            versions = {name: output_of(tool, ("--version",), search) for name, tool in tools.items()}
            if all(versions.values()):
                source = _sysroot_source(Path(sysroot or ""), found.program)
                more = {"sysroot_source": source} if source else {}
                told = {name: first_line(version or "") for name, version in versions.items()}
                server = _own_server(found.program, Path(sysroot or ""))
                # Of the toolchain's own: of what a proxy stands for another version may take the place.
                version = first_line(output_of(server, ("--version",), search) or found.version)
                return Installed(server, version, tools | more, told)
    mute = next(candidates(search, "rustc"), None)
    if mute:
        home = search.rustup_home or "~/.rustup"
        return Missing(f"{mute} knows no toolchain that works, with those of rustup in {home}", DEFAULT)
    return Missing("rust-analyzer needs the Rust toolchain, which is not installed", RUSTUP)


def _own_server(found: Path, sysroot: Path) -> Path:
    """The toolchain's own, where what was found is rustup's proxy, which has no home when the server runs."""
    own = sysroot / "bin" / "rust-analyzer"
    return own if found.resolve().name == "rustup" and _is_program(own) else found


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _sysroot_source(sysroot: Path, server: Path) -> Path | None:
    """The standard library's source where the toolchain has none itself: that which came with the server."""
    if (sysroot / _SYSROOT_SOURCE).is_dir():
        return sysroot / _SYSROOT_SOURCE
    prefix = server.resolve().parent.parent
    for place in ("usr/src", "root/usr/src"):
        for source in sorted((prefix / place).glob("rustc-*/library"), reverse=True):
            return source
    return None


def launch(installed: Installed, root: Path, options: Options) -> Launch:
    tools = installed.tools
    home, source = options.cache / "cargo", tools.get("sysroot_source")
    cargo, rustc, sysroot = tools["cargo"], tools["rustc"], None
    script = _trusted_cargo(cargo, options) if options.trusted else _cargo(cargo, options, source)
    cargo = _write(home / "bin" / "cargo", script)
    if not options.trusted:
        sysroot = _sysroot(options.cache / "sysroot", rustc, options)
        rustc = sysroot / "bin" / "rustc"
    env = private_home(options.cache) | {
        "PATH": "/usr/bin:/bin" if options.trusted else "/nonexistent",
        "CARGO": str(cargo),
        "CARGO_HOME": str(home),
        "CARGO_NET_OFFLINE": "true",
        "CARGO_TARGET_DIR": str(options.cache / "target"),
        "RUSTC": str(rustc),
        "RUSTC_WRAPPER": "",
        "RUSTC_WORKSPACE_WRAPPER": "",
    }
    settings = _settings(root, options.trusted, sysroot, source)
    limits = [] if options.trusted else ["build scripts and procedural macros are not run"]
    if "sysroot_source" not in tools:
        limits.append("the standard library's source is not installed (rustup component add rust-src)")
    if not _manifests(root):
        limits.append("no Cargo.toml")
    return Launch((str(installed.program),), env, settings, {"rust-analyzer": settings}, tuple(limits))


def prepare(_: Installed, options: Options) -> None:
    shutil.rmtree(options.cache / _ANSWERS, ignore_errors=True)


def _trusted_cargo(cargo: Path, options: Options) -> str:
    return f'#!/bin/sh\n{_at_home(options)}\nexec {shlex.quote(str(cargo))} "$@"\n'


def _at_home(options: Options) -> str:
    """rust-analyzer finds our cargo in a home of its own; cargo itself has the user's, with the crates."""
    return f"export CARGO_HOME={shlex.quote(str(options.cargo_home or options.cache / 'cargo'))}"


def _cargo(cargo: Path, options: Options, source: Path | None) -> str:
    before = f"""case $1 in
metadata | --version | -V) ;;
*) echo "only metadata is allowed here" >&2; exit 101 ;;
esac
{_at_home(options)}
cd /"""
    questions = '" --version " | " -V "'
    if source:
        questions += f' | *" --manifest-path "{shlex.quote(str(source))}/*'
    # rust-analyzer gives the library's lock file by another name each time.
    return remembering(cargo, options.cache / _ANSWERS, questions, before, "--lockfile-path")


def _sysroot(folder: Path, rustc: Path, options: Options) -> Path:
    """The toolchain's, with a rustc that remembers."""
    _write(
        folder / "bin" / "rustc",
        remembering(rustc, options.cache / _ANSWERS, '*" --print"* | " -vV " | " -V " | " --version "'),
    )
    for name in ("lib", "libexec"):
        real = rustc.parent.parent / name
        link = folder / name
        if link.is_symlink() and link.readlink() != real:
            link.unlink()
        if real.is_dir() and not link.is_symlink():
            link.symlink_to(real)
    return folder


def _write(script: Path, text: str) -> Path:
    if not script.is_file() or script.read_text() != text:
        script.parent.mkdir(parents=True, exist_ok=True)
        made = script.with_name(f"{script.name}.{os.getpid()}")
        made.write_text(text)
        made.chmod(0o700)
        made.replace(script)
    return script


def _settings(
    root: Path, trusted: bool, sysroot: Path | None, sysroot_source: Path | None
) -> dict[str, object]:
    cargo: dict[str, object] = {
        "buildScripts": {"enable": trusted},
        "autoreload": True,
        "noDeps": False,
        "extraEnv": {},
        "targetDir": None,
    }
    if sysroot:
        cargo["sysroot"] = str(sysroot)
    if sysroot_source:
        cargo["sysrootSrc"] = str(sysroot_source)
    return {
        "linkedProjects": _manifests(root) or [_NO_PROJECT],
        "cargo": cargo,
        "procMacro": {"enable": trusted, "attributes": {"enable": trusted}},
        "checkOnSave": False,
        "check": {"overrideCommand": None, "workspace": False},
        "cachePriming": {"enable": False},
        "files": {"watcher": "client", "excludeDirs": [".git", "target", "node_modules"]},
        "rustc": {"source": None},
        "diagnostics": {"enable": False},
        "workspace": {"discoverConfig": None},
        "cfg": {"setTest": True},
    }


def _manifests(root: Path) -> list[str]:
    """Cargo.toml at the top, or those that have none above them."""
    found: list[str] = []
    for place, folders, names in os.walk(root):
        if "Cargo.toml" in names:
            found.append(f"{place}/Cargo.toml")
            folders.clear()
        folders[:] = sorted(set(folders) - {".git", "node_modules", "target", "vendor"})
    return found


DRIVER = Driver(
    family="rust",
    server="rust-analyzer",
    languages=frozenset({"rust"}),
    suffixes=(b".rs",),
    install=INSTALL,
    find=find,
    launch=launch,
    prepare=prepare,
    guards=(
        Guard("build scripts", "cargo.buildScripts.enable false; cargo knows metadata only"),
        Guard("procedural macros", "procMacro.enable false"),
        Guard("checks on save", "checkOnSave false"),
        Guard(".cargo/config.toml: rustc, wrappers, linkers, [env]", "cargo runs at /, where it is not seen"),
        Guard("rust-toolchain files", "cargo and rustc of a toolchain's folder, never rustup's proxies"),
        Guard("rust-project.json: a sysroot with its rustc", "linkedProjects names the manifests"),
        Guard("rust-analyzer.toml: commands to run", "cargo knows metadata only; each such setting is off"),
        Guard("fetching crates", "CARGO_NET_OFFLINE=true"),
    ),
    configuration=(b"Cargo.toml",),
    reports_status=True,
    language_ids={b".rs": "rust"},
)
