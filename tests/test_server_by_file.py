"""clangd's processes: how many run at a time; what the one that has an index of all files holds."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from language_servers import Project
from nibd.repair.servers import by_file, room
from nibd.repair.servers.by_file import ByFileServer
from nibd.repair.servers.server import Locations
from nibd.stores.types import RepoPath

FILES = {
    f"part{n}.c": f"int part{n}(void) {{ return {n}; }}\nint use{n}(void) {{ return part{n}(); }}\n"
    for n in range(6)
}


def references(project: Project, path: str, needle: str) -> set[tuple[str, int, str]]:
    return project.read(project.server.references([project.place(path, needle)])[0])


def test_few_files_stay_open_however_many_are_asked_about(tmp_path: Path) -> None:
    with patch.object(by_file, "OPEN_FILES", 2), Project(tmp_path, "c", FILES) as project:
        for _ in range(2):
            for n in range(6):
                assert references(project, f"part{n}.c", f"part{n}") == {
                    (f"part{n}.c", 0, f"part{n}"), (f"part{n}.c", 1, f"part{n}"),
                }  # fmt: skip
        assert sorted(project.server._versions) == [b"part4.c", b"part5.c"]
        places = [project.place(f"part{n}.c", f"part{n}") for n in range(4)]
        assert all(len(answer) == 2 for answer in project.server.references(places))  # type: ignore[arg-type]
        assert len(project.server._versions) == 4


def test_a_change_while_the_index_is_made_makes_it_outdated(tmp_path: Path) -> None:
    with Project(tmp_path, "c", FILES) as project:
        relaunch, changed = project.server._relaunch, []

        def slow() -> object:
            if not changed:
                changed.append(True)
                project.server.changed([], [RepoPath(b"part0.c")], [])
            return relaunch()

        with patch.object(project.server, "_relaunch", slow):
            assert references(project, "part1.c", "part1")
        assert project.server.must_restart()


@pytest.mark.parametrize(("free_bytes", "together"), [(1 << 20, 1), (7 << 30, 2), (64 << 30, 3)])
def test_so_many_files_are_asked_at_a_time_as_there_is_memory_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_bytes: int, together: int
) -> None:
    memory = tmp_path / "meminfo"
    memory.write_text(f"MemTotal: {free_bytes >> 9} kB\nMemAvailable: {free_bytes >> 10} kB\n")
    monkeypatch.setattr(room, "_MEMINFO", memory)
    monkeypatch.setattr(room, "_OWN_GROUP", tmp_path / "no group")
    monkeypatch.setattr(by_file, "JOBS", 3)
    meeting, counting = threading.Barrier(together), threading.Lock()
    running: list[RepoPath] = []
    counts: list[int] = []
    ask = ByFileServer._ask_file

    def met(server: ByFileServer, path: RepoPath, *arguments: Any) -> list[Locations]:
        with counting:
            running.append(path)
            counts.append(len(running))
        meeting.wait(30)  # until so many have begun
        try:
            return ask(server, path, *arguments)
        finally:
            with counting:
                running.remove(path)

    with Project(tmp_path, "c", FILES) as project, patch.object(ByFileServer, "_ask_file", met):
        places = [project.place(f"part{n}.c", f"part{n}") for n in range(6)]
        answers = project.server.definitions(places)
        assert [len(project.read(answer)) for answer in answers] == [1] * 6
    assert max(counts) == together
