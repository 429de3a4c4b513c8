"""What takes long of a server's life is stopped by who no longer wants it, and bounded in all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from language_servers import require
from nibd.repair.progress import Interrupted, Progress
from nibd.repair.servers import LanguageServer, Options, go_modules, start_server
from nibd.repair.servers.go_modules import GoModules, Modules
from nibd.stores.types import RepoPath
from relations_world import World
from test_server_failures import is_gone, stop
from waiting import wait_until


def stopped() -> None:
    raise Interrupted


@pytest.fixture
def hanging(tmp_path: Path) -> Iterator[Callable[[str], LanguageServer]]:
    """Starts a family's server that takes no more messages once it has begun."""
    started: list[LanguageServer] = []

    def start(family: str) -> LanguageServer:
        driver, installed = require(family)
        (tmp_path / "tree").mkdir()
        server = start_server(driver, installed, tmp_path / "tree", Options(tmp_path / "cache"))
        started.append(server)
        stop(server.pid)
        return server

    yield start
    for server in started:
        server.kill()


def test_waiting_for_a_server_to_settle_is_stopped(hanging: Callable[[str], LanguageServer]) -> None:
    server = hanging("javascript")
    with pytest.raises(Interrupted):
        server.settle(3600, [(RepoPath(b"app.ts"), 0, 0)], stopped)
    assert server.is_alive


def test_opening_files_is_stopped(hanging: Callable[[str], LanguageServer], tmp_path: Path) -> None:
    server = hanging("javascript")
    (tmp_path / "tree" / "large.ts").write_text("let a = 1;\n" * 100_000)  # more than a pipe holds
    calls = iter([lambda: None, stopped])  # as each file is opened, and as all are sent

    def interrupt() -> None:
        next(calls)()

    with pytest.raises(Interrupted):
        server.open_all([RepoPath(b"large.ts")], interrupt)


def test_a_start_is_stopped(tmp_path: Path) -> None:
    """Of a program that never answers."""
    driver, installed = require("javascript")
    program = tmp_path / "server"
    program.write_text(f"#!{sys.executable} -IS\nimport time\ntime.sleep(3600)\n")
    program.chmod(0o755)
    launch = driver.launch(installed, tmp_path, Options(tmp_path / "cache"))
    hangs = type(launch)((str(program),), launch.env, {}, {})
    with pytest.raises(Interrupted):
        LanguageServer.launched(driver, tmp_path, hangs, lambda: hangs, stopped)


def test_a_repair_whose_server_does_not_settle_is_stopped(tmp_path: Path) -> None:
    with World(tmp_path, "javascript", {"lib.ts": "export const one = 1;\n"}) as world:
        world.relate()
        server = world.relating.workspace.running("javascript")
        assert server is not None
        world.commit({"app.ts": 'import { one } from "./lib";\n'})
        stop(server.pid)

        def report(progress: Progress) -> None:
            if progress.stage == "settle":
                raise Interrupted

        with pytest.raises(Interrupted):
            world.relate(report=report)


class Go:
    """A go command that never ends, which notes each time that it is run, and as which process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tree = folder / "tree"
        self.program = folder / "go"
        self.program.write_text(f"#!/bin/sh\necho $$ >> {folder}/runs\nexec /bin/sleep 3600\n")
        self.program.chmod(0o755)

    def runs(self) -> list[int]:
        log = self.folder / "runs"
        return [int(line) for line in log.read_text().split()] if log.exists() else []

    def find(self, modules: int, interrupt: Callable[[], None] = lambda: None) -> Modules:
        files = []
        for number in range(modules):
            file = self.tree / f"module{number}" / "go.mod"
            file.parent.mkdir(parents=True)
            file.write_text(f"module example.org/m{number}\n\ngo 1.20\n\nrequire example.org/no v1.0.0\n")
            files.append(file)
        env = {"GOMODCACHE": str(self.folder / "cache"), "PATH": "/usr/bin:/bin"}
        copies = self.folder / "go-mod"
        return GoModules(self.program, "1.24.4", self.tree, copies, env, interrupt).find(files)


def test_finding_out_what_go_can_load_is_stopped_and_leaves_nothing_running(tmp_path: Path) -> None:
    go = Go(tmp_path)

    def once_it_runs() -> None:
        if go.runs():
            raise Interrupted

    with pytest.raises(Interrupted):
        go.find(3, once_it_runs)
    (pid,) = go.runs()
    wait_until(lambda: is_gone(pid))


def test_finding_out_what_go_can_load_takes_so_long_in_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the modules that are not come to, what is absent is left out untried."""
    monkeypatch.setattr(go_modules, "TIMEOUT_S", 0.5)
    go = Go(tmp_path)
    found = go.find(20)
    assert len(go.runs()) <= 3  # the first module's, each as far as there is time
    assert any("'module0': go mod graph took more than 0.5 s" in limit for limit in found.limits)
    assert any("modules that are not on this machine: example.org/no" in limit for limit in found.limits)
    assert found.overlay is not None
    assert "module1/go.mod" in found.overlay.read_text()
    wait_until(lambda: all(map(is_gone, go.runs())))


def test_a_start_of_gopls_is_stopped_while_go_runs(tmp_path: Path) -> None:
    driver, installed = require("go")
    go = Go(tmp_path)
    go.tree.mkdir()
    (go.tree / "go.mod").write_text("module example.org/app\n\ngo 1.20\n")
    with pytest.raises(Interrupted):
        driver.launch(
            replace(installed, tools={"go": go.program}),
            go.tree,
            Options(tmp_path / "cache", interrupt=stopped),
        )
