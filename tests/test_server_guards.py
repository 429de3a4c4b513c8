"""No code of a repository runs: each trap of a hostile one would leave a file behind if it won.

Traps are scripts and libraries that the repository holds and that some file of it tells the server to run.
"""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from language_servers import SAMPLES, Project, require
from nibd.repair.servers import (
    DRIVERS,
    Driver,
    Installed,
    Missing,
    Options,
    Search,
    Settled,
    driver_of_family,
    start_server,
)
from nibd.stores.types import RepoPath


class Traps:
    """A hostile repository in the making. `won` fills when a trap is sprung."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        self.won = folder / "won"
        self.won.mkdir()

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def script(self, path: str) -> str:
        name = path.replace("/", "-")
        file = self.write(path, f"#!/bin/sh\n: > '{self.won}/{name}'\nexit 1\n")
        file.chmod(0o755)
        return str(file)

    def library(self, path: str) -> str:
        """A shared object that wins when it is loaded; nothing where there is no C compiler."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        compiler = shutil.which("cc")
        if compiler is None:
            return str(file)
        win = f'{{ fopen("{self.won}/so", "w"); }}'
        code = f"#include <stdio.h>\n__attribute__((constructor)) void f(void) {win}\n"
        source = self.write(path + ".c", code)
        subprocess.run([compiler, "-shared", "-fPIC", "-o", file, source], check=True)
        source.unlink()
        return str(file)

    def ask_everything(self, family: str, folder: Path, *, trusted: bool = False) -> None:
        """Start the family's server on it, settle, and ask about each place of each line."""
        driver, installed = require(family)
        options = Options(cache=folder / "cache", trusted=trusted)
        paths = [
            RepoPath(str(file.relative_to(self.root)).encode())
            for file in sorted(self.root.rglob("*"))
            if file.is_file() and driver.owns(str(file).encode())
        ]
        with start_server(driver, installed, self.root, options) as server:
            server.open_all(paths)
            assert isinstance(server.settle(90), Settled), server.log
            for path in paths:
                lines = (self.root / path.decode()).read_text().split("\n")
                server.definitions(
                    (path, number, n) for number, line in enumerate(lines) for n in range(len(line))
                )
            server.changed([], [RepoPath(b"Cargo.toml"), RepoPath(b"go.mod"), *paths], [])
            assert isinstance(server.settle(90), Settled), server.log

    @property
    def sprung(self) -> list[str]:
        return sorted(file.name for file in self.won.iterdir())


@pytest.fixture
def traps(tmp_path: Path) -> Traps:
    return Traps(tmp_path)


def test_python_runs_no_interpreter_and_no_tool(tmp_path: Path, traps: Traps) -> None:
    for name in ("python", "python3", "uv", "ty"):
        traps.script(f".venv/bin/{name}")
        traps.script(name)
    win = f"open({str(traps.won / 'py')!r}, 'w')\n"
    traps.write(".venv/pyvenv.cfg", f"home = {traps.root}\nversion = 3.11.0\n")
    site = ".venv/lib/python3.11/site-packages"
    traps.write(f"{site}/evil.pth", f"import os; {win}")
    traps.write(f"{site}/sitecustomize.py", win)
    traps.write("setup.py", win)
    traps.write("conftest.py", win)
    traps.write("pyproject.toml", '[tool.ty.environment]\npython = "./.venv"\n')
    traps.write(
        "app.py", '# /// script\n# dependencies = ["evil"]\n# ///\nimport evil\nimport setup\n\nsetup.x\n'
    )
    traps.ask_everything("python", tmp_path)
    assert traps.sprung == []


def test_typescript_loads_no_plugin_and_installs_nothing(tmp_path: Path, traps: Traps) -> None:
    win = f"require('fs').writeFileSync({json.dumps(str(traps.won / 'js'))}, '')\n"
    plugin = {"compilerOptions": {"plugins": [{"name": "evil"}, {"transform": "./evil.js"}], "allowJs": True}}
    traps.write("tsconfig.json", json.dumps(plugin))
    needs = {"name": "app", "scripts": {"preinstall": "./npm"}, "dependencies": {"lodash": "4", "evil": "1"}}
    traps.write("package.json", json.dumps(needs))
    traps.write("node_modules/evil/package.json", '{"name": "evil", "main": "index.js"}')
    traps.write("node_modules/evil/index.js", win)
    traps.write(".pnp.cjs", win)
    traps.write("evil.js", win)
    for name in ("npm", "node", "tsc", "node_modules/.bin/tsc", "node_modules/.bin/npm"):
        traps.script(name)
    traps.script("node_modules/@typescript/typescript-linux-x64/lib/tsc")
    traps.write("app.js", 'const _ = require("lodash");\nconst e = require("evil");\n_.map(e);\n')
    traps.ask_everything("javascript", tmp_path)
    assert traps.sprung == []


def test_go_runs_no_compiler_toolchain_or_driver(tmp_path: Path, traps: Traps) -> None:
    for name in ("gopackagesdriver", "gcc", "cc", "clang", "git", "go", "bin/go", "tool"):
        traps.script(name)
    traps.write(
        "go.mod", "module example.org/app\n\ngo 1.21\n\ntoolchain go1.99.0\n\nrequire example.org/x v1.0.0\n"
    )
    traps.write("go.work", "go 1.21\n\ntoolchain go1.99.0\n\nuse .\n")
    traps.write("go.env", f"GOFLAGS=-toolexec={traps.root}/tool\nCC={traps.root}/cc\n")
    cgo = (
        f'package app\n\n// #cgo CFLAGS: -fplugin={traps.library("evil.so")}\n// int f(void);\nimport "C"\n\n'
    )
    traps.write("cgo.go", cgo + "func run() { C.f() }\n")
    traps.write("app.go", "package app\n\n//go:generate ./tool\n\nfunc use() { run() }\n")
    traps.ask_everything("go", tmp_path)
    assert traps.sprung == []


def hostile_crate(traps: Traps) -> None:
    win = f'std::fs::write({json.dumps(str(traps.won))}.to_string() + "/{{}}", "").unwrap();'
    traps.write(
        "Cargo.toml",
        '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\nbuild = "build.rs"\n\n'
        '[dependencies]\nmacros = { path = "macros" }\n',
    )
    traps.write("build.rs", f"fn main() {{ {win.replace('{}', 'build')} }}\n")
    traps.write(
        "macros/Cargo.toml",
        '[package]\nname = "macros"\nversion = "0.1.0"\nedition = "2021"\n\n[lib]\nproc-macro = true\n',
    )
    traps.write(
        "macros/src/lib.rs",
        "use proc_macro::TokenStream;\n#[proc_macro]\npub fn evil(_: TokenStream) -> TokenStream { "
        + win.replace("{}", "macro")
        + " TokenStream::new() }\n",
    )
    traps.write("src/lib.rs", "macros::evil!();\n\npub fn run() { use_it(); }\n\nfn use_it() {}\n")


def test_rust_runs_no_build_script_macro_wrapper_or_toolchain(tmp_path: Path, traps: Traps) -> None:
    hostile_crate(traps)
    rustc, wrapper = traps.script("evil/bin/rustc"), traps.script("wrapper")
    for name in ("cargo", "rust-analyzer", "rustfmt"):
        traps.script(f"evil/bin/{name}")
    traps.write(
        ".cargo/config.toml",
        f'[build]\nrustc = "{rustc}"\nrustc-wrapper = "{wrapper}"\nrustc-workspace-wrapper = "{wrapper}"\n'
        f'[target.x86_64-unknown-linux-gnu]\nlinker = "{wrapper}"\nrunner = "{wrapper}"\n'
        f'[env]\nLD_PRELOAD = {{ value = "{traps.library("evil.so")}", force = true }}\n'
        f'RUSTC = {{ value = "{rustc}", force = true }}\n[alias]\nmetadata = "run"\n',
    )
    traps.write("rust-toolchain.toml", f'[toolchain]\npath = "{traps.root}/evil"\n')
    project = {
        "sysroot": f"{traps.root}/evil",
        "crates": [{"root_module": "src/lib.rs", "edition": "2021", "deps": []}],
    }
    traps.write("rust-project.json", json.dumps(project))
    traps.write(".rust-project.json", json.dumps(project))
    command = f'overrideCommand = ["{wrapper}"]\n'
    traps.write(
        "rust-analyzer.toml",
        f"checkOnSave = true\n[cargo.buildScripts]\nenable = true\n{command}"
        f"[check]\n{command}[rustfmt]\n{command}"
        f'[procMacro]\nenable = true\nserver = "{wrapper}"\n[cargo]\nsysroot = "{traps.root}/evil"\n'
        f'[workspace.discoverConfig]\ncommand = ["{wrapper}"]\nfilesToWatch = ["Cargo.toml"]\n'
        'progressLabel = "x"\n',
    )
    traps.ask_everything("rust", tmp_path)
    assert traps.sprung == []


def test_rust_runs_nothing_where_there_is_no_manifest(tmp_path: Path, traps: Traps) -> None:
    traps.script("evil/bin/rustc")
    traps.script("evil/bin/cargo")
    project = {
        "sysroot": f"{traps.root}/evil",
        "crates": [{"root_module": "lib.rs", "edition": "2021", "deps": []}],
    }
    traps.write("rust-project.json", json.dumps(project))
    traps.write("lib.rs", "pub fn run() { use_it(); }\n\nfn use_it() {}\n")
    traps.ask_everything("rust", tmp_path)
    assert traps.sprung == []


@pytest.mark.parametrize("trap", ["rustc", "rustc-wrapper", "LD_PRELOAD"])
def test_plain_cargo_metadata_springs_the_traps(tmp_path: Path, traps: Traps, trap: str) -> None:
    """Shows that the traps of the tests above are some, and why cargo is not run in the tree."""
    _, installed = require("rust")
    traps.write("Cargo.toml", '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n')
    traps.write("src/lib.rs", "")
    if trap == "LD_PRELOAD":
        if shutil.which("cc") is None:
            pytest.skip("a library can't be made: cc is not installed")
        library = traps.library("evil.so")
        traps.write(".cargo/config.toml", f'[env]\nLD_PRELOAD = {{ value = "{library}", force = true }}\n')
    else:
        traps.write(".cargo/config.toml", f'[build]\n{trap} = "{traps.script("evil")}"\n')
    subprocess.run(
        [installed.tools["cargo"], "metadata", "--offline", "--filter-platform", "x86_64-unknown-linux-gnu"],
        cwd=traps.root,
        env={"HOME": str(tmp_path), "PATH": f"{installed.tools['rustc'].parent}:/usr/bin:/bin"},
        capture_output=True,
        check=False,
    )
    assert traps.sprung


def test_trust_turns_on_what_is_shut(tmp_path: Path) -> None:
    tools = {"cargo": Path("/opt/cargo"), "rustc": Path("/opt/rustc"), "go": Path("/opt/go")}
    installed = Installed(Path("/opt/server"), "1", tools)
    for family, trusted in itertools.product(("rust", "go", "c"), (False, True)):
        options = Options(cache=tmp_path / family, trusted=trusted)
        launch = driver_of_family(family).launch(installed, tmp_path, options)
        told = repr((launch.argv, sorted(launch.env.items()), launch.initialization))
        sign = {"rust": "'buildScripts': {'enable': True}", "go": "('CGO_ENABLED', '1')", "c": "config=1"}
        assert (sign[family] in told) == trusted, family


def test_c_runs_no_compiler_and_loads_no_plugin(tmp_path: Path, traps: Traps) -> None:
    compiler, plugin = traps.script("evil-cc"), traps.library("evil.so")
    app = str(traps.write("app.c", "int run(void) { return 0; }\nint use(void) { return run(); }\n"))
    flags = [
        f"-fplugin={plugin}",
        "-Xclang",
        "-load",
        "-Xclang",
        plugin,
        f"-B{traps.root}",
        f"--sysroot={traps.root}",
    ]
    entry = {"directory": str(traps.root), "file": app, "arguments": [compiler, *flags, "-c", app]}
    traps.write("compile_commands.json", json.dumps([entry]))
    traps.write("compile_flags.txt", f"-fplugin={plugin}\n")
    traps.write(
        ".clangd",
        f"CompileFlags:\n  Compiler: {compiler}\n  BuiltinHeaders: QueryDriver\n  Add: [-fplugin={plugin}]\n"
        f"Index:\n  External:\n    File: {traps.root}/index\n    MountPoint: {traps.root}\n",
    )
    for name in ("gcc", "clang", "ld", "as"):
        traps.script(name)
    traps.ask_everything("c", tmp_path)
    assert traps.sprung == []


@pytest.mark.parametrize("driver", DRIVERS, ids=lambda driver: driver.server)
def test_a_server_that_lies_in_the_repository_is_passed_over(traps: Traps, driver: Driver) -> None:
    for name in ("ty", "tsc", "gopls", "go", "rust-analyzer", "rustc", "cargo", "clangd"):
        traps.script(f".venv/bin/{name}")
    found = driver.find(Search(path=f"{traps.root}/.venv/bin:.venv/bin:.", forbidden=(traps.root,)))
    assert isinstance(found, Missing)
    assert found.install
    assert traps.sprung == []


def test_a_tool_reached_by_a_link_into_the_repository_is_passed_over(tmp_path: Path, traps: Traps) -> None:
    outside = tmp_path / "bin"
    outside.mkdir()
    (outside / "ty").symlink_to(traps.script("ty"))
    found = DRIVERS[0].find(Search(path=str(outside), forbidden=(traps.root,)))
    assert isinstance(found, Missing)
    assert traps.sprung == []


@pytest.mark.parametrize("family", SAMPLES)
def test_a_server_writes_nothing_into_the_tree_that_git_would_show(tmp_path: Path, family: str) -> None:
    with Project(tmp_path, family) as project:
        project.ask(project.sample.app, "greet", -1)
        written = {str(file.relative_to(project.root)) for file in project.root.rglob("*") if file.is_file()}
        assert written - {"Cargo.lock"} == set(project.sample.files)
