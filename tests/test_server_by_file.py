"""clangd's process that has an index of all files: what it holds, and when it is outdated."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

from language_servers import Project
from nibd.repair.servers import by_file
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
