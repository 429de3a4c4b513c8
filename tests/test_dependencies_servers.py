"""Each server is told of what is installed in a checkout, and finds it."""

from __future__ import annotations

import json
import os
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from daemon_world import Daemon, configure, running
from gitrepo import Repo
from language_servers import require
from waiting import wait_until

WAIT_S = 120.0
LONG_AGO = (1_700_000_000, 1_700_000_000)


@contextmanager
def daemon_with(family: str, environment: dict[str, str] | None = None) -> Iterator[Daemon]:
    _, installed = require(family)
    # gopls and rust-analyzer need tools beside them; a search takes one folder before PATH
    tools = {str(tool.parent) for tool in installed.tools.values()}
    path = os.pathsep.join([str(installed.program.parent), *tools, os.environ["PATH"]])
    configure("[dense]\nenabled = false\n[daemon]\ncompare_interval_s = 1\n")
    with running({"PATH": path, **(environment or {})}) as daemon:
        yield daemon


def relations(daemon: Daemon, repo: Repo, family: str) -> Any:
    return daemon.call("status", path=str(repo.path))["relations"].get(family, {})


def related(daemon: Daemon, repo: Repo, family: str, other_than: str = "") -> Any:
    def are_there() -> bool:
        found = relations(daemon, repo, family)
        assert found.get("state") != "failed", found
        return bool(found.get("state") == "ready" and found["profile"] != other_than)

    wait_until(are_there, WAIT_S, "the relations")
    return relations(daemon, repo, family)


def definitions(daemon: Daemon, file: Path, line: int, column: int) -> list[str]:
    answer = daemon.call("navigate", path=str(file), operation="definition", line=line, col=column)
    return [
        f"{hit['external']['package']}: {hit['external']['path']}" if hit["external"] else hit["path"]
        for hit in answer["hits"]
    ]


def test_packages_of_node_modules(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.write(".gitignore", "node_modules\n")
    repo.write("package.json", '{"name": "app", "dependencies": {"left": "1.0.0"}}\n')
    repo.write("tsconfig.json", '{"compilerOptions": {"module": "esnext", "moduleResolution": "bundler"}}\n')
    repo.write("app.ts", 'import { pad } from "left";\nimport { own } from "inner";\n\npad(own());\n')
    repo.write("packages/inner/package.json", '{"name": "inner", "types": "index.ts"}\n')
    repo.write("packages/inner/index.ts", "export function own() { return 1; }\n")
    repo.commit("one")
    left = repo.path / "node_modules" / "left"
    left.mkdir(parents=True)
    (left / "package.json").write_text('{"name": "left", "version": "1.0.0", "types": "index.d.ts"}\n')
    (left / "index.d.ts").write_text("export declare function pad(width: number): string;\n")
    (left.parent / "inner").symlink_to("../packages/inner")
    (left.parent / ".package-lock.json").write_text("{}\n")
    for path in (left.parent / ".package-lock.json", left, left.parent):
        os.utime(path, LONG_AGO)

    with daemon_with("javascript") as daemon:
        daemon.add(repo.path)
        related(daemon, repo, "javascript")

        assert definitions(daemon, repo.path / "app.ts", 4, 1) == ["left: index.d.ts"]
        assert definitions(daemon, repo.path / "app.ts", 4, 5) == ["packages/inner/index.ts"]


def test_modules_of_the_go_cache_when_they_come(tmp_path: Path) -> None:
    _, installed = require("go")
    repo, cache = Repo(tmp_path / "repo"), tmp_path / "pkg" / "mod"
    repo.write("go.mod", "module example.org/app\n\ngo 1.20\n\nrequire example.org/dep v1.0.0\n")
    repo.write("app.go", 'package app\n\nimport "example.org/dep"\n\nfunc run() { dep.Greet() }\n')
    filled = made_cache(tmp_path, repo.path, installed.tools["go"])
    repo.commit("one")

    with daemon_with("go", {"GOMODCACHE": str(cache)}) as daemon:
        daemon.add(repo.path)
        before = related(daemon, repo, "go")
        assert "modules that are not on this machine: example.org/dep" in before["reason"]

        cache.parent.mkdir()
        filled.rename(cache)
        after = related(daemon, repo, "go", other_than=before["profile"])

        assert "not on this machine" not in (after["reason"] or "")
        assert definitions(daemon, repo.path / "app.go", 5, 18) == ["example.org/dep@v1.0.0: dep.go"]


def made_cache(folder: Path, app: Path, go: Path) -> Path:
    """A module cache with example.org/dep, which go itself has filled from a folder; go.sum is written."""
    versions, cache = folder / "proxy" / "example.org" / "dep" / "@v", folder / "filled"
    versions.mkdir(parents=True)
    (versions / "list").write_text("v1.0.0\n")
    (versions / "v1.0.0.info").write_text(json.dumps({"Version": "v1.0.0", "Time": "2024-01-02T03:04:05Z"}))
    (versions / "v1.0.0.mod").write_text("module example.org/dep\n\ngo 1.20\n")
    with zipfile.ZipFile(versions / "v1.0.0.zip", "w") as archive:
        archive.writestr("example.org/dep@v1.0.0/go.mod", "module example.org/dep\n\ngo 1.20\n")
        archive.writestr("example.org/dep@v1.0.0/dep.go", "package dep\n\nfunc Greet() {}\n")
    env = {
        "PATH": os.environ["PATH"], "HOME": str(folder), "GOMODCACHE": str(cache), "GOFLAGS": "-modcacherw",
        "GOPROXY": f"file://{folder / 'proxy'}", "GONOSUMDB": "*", "GOTOOLCHAIN": "local",
    }  # fmt: skip
    done = subprocess.run([go, "mod", "tidy"], cwd=app, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return cache


def test_flags_of_compile_commands(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.write(".gitignore", "build\n")
    repo.write("app.c", '#include "odd.h"\n\nint run(void) { return odd(); }\n')
    repo.write("some/where/odd.h", "static inline int odd(void) { return 1; }\n")
    repo.commit("one")
    entry = {
        "directory": str(repo.path),
        "file": str(repo.path / "app.c"),
        "command": f"cc -I{repo.path}/some/where -c {repo.path}/app.c",
    }
    commands = repo.path / "build" / "compile_commands.json"
    commands.parent.mkdir()
    commands.write_text(json.dumps([entry]))
    os.utime(commands, LONG_AGO)

    with daemon_with("c") as daemon:
        daemon.add(repo.path)
        found = related(daemon, repo, "c")

        assert found["reason"] is None
        assert definitions(daemon, repo.path / "app.c", 3, 24) == ["some/where/odd.h"]
