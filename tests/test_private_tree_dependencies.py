"""What is installed in a checkout is found, identified, and never leads to uncommitted code."""

from __future__ import annotations

import json
import os
import sys
import venv
from pathlib import Path

import pytest

from gitrepo import Repo
from nibd.repair.git import open_source
from nibd.repair.private_tree import Placement, PlacementKind
from nibd.repair.private_tree.dependencies import Dependencies, find_dependencies
from nibd.stores.types import RepoPath
from private_trees import on_disk, paths, private, tree_of

LATER_S = 3600.0
"""After what a test installs, which is made now."""


class Place:
    """A repository, its private tree's folder, and what is found between them."""

    def __init__(self, tmp_path: Path) -> None:
        self.repo = Repo(tmp_path / "a checkout")
        self.folder = tmp_path / "a cache" / "tree"
        self.root = self.folder / "work"

    @property
    def checkout(self) -> Path:
        return self.repo.path

    def find(self, after_s: float = LATER_S, checkout: Path | None = None) -> Dependencies:
        source = open_source(self.checkout)
        try:
            listed = [entry.path for entry in source.list_tree(tree_of(self.repo))]
        finally:
            source.close()
        newest = max(path.lstat().st_mtime for path in self.checkout.rglob("*"))
        return find_dependencies(checkout or self.checkout, lambda: listed, self.root, newest + after_s)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    made.repo.write(".gitignore", "node_modules\n.venv\nbuild\ncompile_commands.json\n")
    made.repo.write("package.json", "{}")
    made.repo.write("packages/core/package.json", '{"name": "@acme/core"}')
    made.repo.write("packages/app/package.json", '{"name": "app"}')
    made.repo.write("src/pkg/__init__.py", "x = 1\n")
    made.repo.write("main.c", "int main;\n")
    made.repo.commit()
    return made


def test_nothing_is_installed(place: Place) -> None:
    found = place.find()
    assert (found.python, dict(found.placements), found.notes, found.in_progress) == (None, {}, (), None)


class TestNodeModules:
    @pytest.fixture(autouse=True)
    def installed(self, place: Place) -> None:
        top = place.checkout / "node_modules"
        package(top / "left-pad")
        package(top / "@types" / "node")
        (top / "@acme").mkdir()
        (top / "@acme/core").symlink_to("../../packages/core")
        (top / "app").symlink_to("../packages/app")
        (top / ".bin").mkdir()
        (top / ".pnpm/deep@1/node_modules").mkdir(parents=True)
        package(top / ".pnpm/deep@1/node_modules/deep")
        (top / "deep").symlink_to(".pnpm/deep@1/node_modules/deep")
        package(place.checkout / "packages/app/node_modules/left-pad")
        (top / ".package-lock.json").write_text("{}")

    def test_links_lead_to_packages_and_workspaces_into_the_private_tree(self, place: Place) -> None:
        found = place.find()
        top = place.checkout / "node_modules"
        assert {path: Path(os.fsdecode(each.content)) for path, each in found.placements.items()} == {
            b"node_modules/left-pad": top / "left-pad",
            b"node_modules/@types/node": top / "@types/node",
            b"node_modules/deep": top / ".pnpm/deep@1/node_modules/deep",
            b"node_modules/@acme/core": place.root / "packages/core",
            b"node_modules/app": place.root / "packages/app",
            b"packages/app/node_modules/left-pad": place.checkout / "packages/app/node_modules/left-pad",
        }
        assert found.notes == ()
        with private(place.folder, place.repo) as tree:
            tree.move(tree_of(place.repo))
            assert tree.place(found.placements) == ()
            assert (tree.root / "node_modules/@acme/core/package.json").resolve().is_relative_to(tree.root)
            assert (tree.root / "node_modules/left-pad/package.json").exists()
            assert len(tree.check()) == 0

    def test_what_leads_to_uncommitted_code_is_left_out(self, place: Place) -> None:
        package(place.checkout / "packages/draft")
        (place.checkout / "node_modules/draft").symlink_to("../packages/draft")
        (place.checkout / "node_modules/gone").symlink_to("../nowhere")
        found = place.find()
        assert not {b"node_modules/draft", b"node_modules/gone"} & found.placements.keys()
        assert len(found.notes) == 2
        assert found.is_uncommitted(place.checkout / "node_modules/draft/package.json")
        assert not found.is_uncommitted(place.checkout / "node_modules/left-pad/package.json")
        assert not found.is_uncommitted(place.root / "main.c")

    def test_a_tracked_folder_is_not_an_install(self, place: Place) -> None:
        place.repo.git("add", "-f", "node_modules/left-pad")
        place.repo.commit()
        found = place.find()
        assert not any(path.startswith(b"node_modules") for path in found.placements)
        assert "in the repository" in found.notes[0]

    def test_a_folder_behind_a_symlink_is_not_used(self, place: Place, tmp_path: Path) -> None:
        app = place.checkout / "packages/app"
        app.rename(tmp_path / "moved")
        app.symlink_to(tmp_path / "moved")
        found = place.find()
        assert b"packages/app/node_modules/left-pad" not in found.placements
        assert any("packages/app/node_modules is not used" in note for note in found.notes)

    def test_identity(self, place: Place) -> None:
        first = place.find().identity
        assert place.find().identity == first
        (place.checkout / "main.c").write_text("edited")
        (place.checkout / "node_modules/.cache").mkdir()
        assert place.find().identity == first
        (place.checkout / "packages/core/package.json").write_text('{"name": "@acme/core", "x": 1}')
        assert place.find().identity == first
        seen = {first}
        lock = place.checkout / "node_modules/.package-lock.json"
        lock.write_text('{"other": 1}')
        seen.add(place.find().identity)
        (place.checkout / "node_modules/left-pad/package.json").write_text('{"version": "2"}')
        seen.add(place.find().identity)
        package(place.checkout / "node_modules/new")
        seen.add(place.find().identity)
        assert len(seen) == 4

    def test_work_in_a_workspace_is_no_install(self, place: Place) -> None:
        old = place.find()
        (place.checkout / "packages/app/new.js").write_text("")
        newest = (place.checkout / "packages/app").stat().st_mtime + 60
        os.utime(place.checkout / "packages/app", (newest, newest))
        found = place.find(after_s=0)
        assert (found.in_progress, found.identity) == (None, old.identity)

    def test_an_install_in_progress(self, place: Place) -> None:
        top = place.checkout / "node_modules"
        lock = top / ".package-lock.json"
        assert place.find().in_progress is None
        assert "just changed" in str(place.find(after_s=1).in_progress)
        newest = top.stat().st_mtime
        os.utime(lock, (newest - 100, newest - 100))
        assert "newer than its lock file" in str(place.find(after_s=60).in_progress)
        lock.unlink()
        assert "no package manager" in str(place.find(after_s=60).in_progress)
        (top / ".left-pad-AbCd1234").mkdir()
        assert "set aside" in str(place.find(after_s=60).in_progress)
        assert place.find(after_s=LATER_S).in_progress is None


def package(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "package.json").write_text("{}")


class TestPython:
    @pytest.fixture
    def site(self, place: Place) -> Path:
        """A real environment's site-packages, with one package installed."""
        venv.create(place.checkout / ".venv", with_pip=False, symlinks=True)
        [site] = (place.checkout / ".venv/lib").glob("python*/site-packages")
        (site / "requests").mkdir()
        (site / "requests/__init__.py").write_text("")
        (site / "requests-2.dist-info").mkdir()
        (site / "requests-2.dist-info/RECORD").write_text("")
        return site

    def test_it_is_found_and_not_run(self, place: Place, site: Path, tmp_path: Path) -> None:
        interpreter = place.checkout / ".venv/bin/python"
        interpreter.unlink()
        interpreter.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")
        interpreter.chmod(0o755)
        (site / "evil.pth").write_text(f"import os; os.mkdir('{tmp_path}/ran')\n")
        python = place.find().python
        assert python is not None
        assert python.interpreter == interpreter
        assert python.version is not None
        assert python.version.startswith(".".join(str(part) for part in sys.version_info[:2]))
        assert python.site_packages == (site,)
        assert not (tmp_path / "ran").exists()

    def test_editable_installs_lead_into_the_private_tree(self, place: Place, site: Path) -> None:
        checkout = place.checkout
        (site / "__editable__.one-1.pth").write_text(f"{checkout}/src\n")
        (site / "two.egg-link").write_text(f"{checkout}/packages/core\n../\n")
        (site / "__editable___three_finder.py").write_text(
            f"import sys\nMAPPING: dict[str, str] = {{'pkg': {str(checkout / 'src/pkg')!r}, 1: 2}}\n"
        )
        (site / "four.pth").write_text(f"# {checkout}/packages\nimport {checkout}\n{checkout}\n./requests\n")
        (site / "five.pth").write_text("/usr/lib/somewhere\n\0\n")
        found = place.find()
        assert sorted(found.search_paths) == [place.root, place.root / "packages/core", place.root / "src"]
        (checkout / "drafts").mkdir()
        (site / "six.pth").write_text(f"{checkout}/drafts\n")
        found = place.find()
        assert len(found.search_paths) == 3
        assert "drafts is left out" in found.notes[0]
        assert found.is_uncommitted(checkout / "src/pkg/__init__.py")
        assert not found.is_uncommitted(site / "requests/__init__.py")

    def test_an_environment_that_is_part_of_the_tree_is_not_used(self, place: Place, site: Path) -> None:
        place.repo.git("add", "-f", ".venv/pyvenv.cfg")
        place.repo.commit()
        found = place.find()
        assert found.python is None
        assert ".venv is not used" in found.notes[0]

    def test_identity(self, place: Place, site: Path) -> None:
        first = place.find().identity
        (site / "requests/__pycache__").mkdir()
        (site / "__pycache__").mkdir()
        assert place.find().identity == first
        (site / "requests-2.dist-info").rename(site / "requests-3.dist-info")
        second = place.find().identity
        (site / "requests-3.dist-info/RECORD").write_text("changed")
        third = place.find().identity
        with (place.checkout / ".venv/pyvenv.cfg").open("a") as file:
            file.write("x = y\n")
        assert len({first, second, third, place.find().identity}) == 4

    def test_an_install_in_progress(self, place: Place, site: Path) -> None:
        assert place.find().in_progress is None
        assert "just changed" in str(place.find(after_s=1).in_progress)
        (site / "~equests").mkdir()
        assert "set aside" in str(place.find(after_s=60).in_progress)
        assert place.find(after_s=LATER_S).in_progress is None


class TestCompileCommands:
    def test_paths_are_rewritten(self, place: Place) -> None:
        checkout, root = place.checkout, place.root
        write(
            place.checkout / "build/compile_commands.json",
            {"directory": f"{checkout}/build", "file": f"{checkout}/main.c",
             "command": f"'/bin/cc' '-I{checkout}/include' -I/usr/include '-Dx={checkout}/y' ../main.c"},
            {"directory": f"{checkout}", "file": "main.c", "output": f"{checkout}/build/main.o",
             "arguments": ["cc", f"-isystem{checkout}/inc", f"-I{checkout}-other", f"/mnt{checkout}/x"]},
        )  # fmt: skip
        found = place.find()
        placed = json.loads(found.placements[RepoPath(b"compile_commands.json")].content)
        assert placed == [
            {"directory": f"{root}/build", "file": f"{root}/main.c",
             "arguments": ["/bin/cc", f"-I{root}/include", "-I/usr/include", f"-Dx={root}/y", "../main.c"]},
            {"directory": f"{root}", "file": "main.c", "output": f"{root}/build/main.o",
             "arguments": ["cc", f"-isystem{root}/inc", f"-I{checkout}-other", f"/mnt{checkout}/x"]},
        ]  # fmt: skip
        assert found.placements[RepoPath(b"build")] == Placement(PlacementKind.FOLDER)
        with private(place.folder, place.repo) as tree:
            tree.move(tree_of(place.repo))
            tree.place(found.placements)
            assert on_disk(tree.root)[b"build"] == ("folder", b"")
            assert json.loads((tree.root / "compile_commands.json").read_text()) == placed

    def test_a_checkout_by_another_name(self, place: Place, tmp_path: Path) -> None:
        """As a build saw it: through a symlink."""
        (tmp_path / "link").symlink_to(place.checkout)
        write(place.checkout / "compile_commands.json", {"directory": f"{tmp_path}/link", "arguments": []})
        [placed] = place.find(checkout=tmp_path / "link").placements.values()
        assert json.loads(placed.content) == [{"directory": str(place.root), "arguments": []}]

    @pytest.mark.parametrize("text", ["not json", "{}", "[1]", "[{}]", '[{"command": "\'"}]', "[" * 100_000])
    def test_nonsense_is_no_failure(self, place: Place, text: str) -> None:
        (place.checkout / "compile_commands.json").write_text(text)
        found = place.find()
        assert found.placements.keys() <= set(paths("compile_commands.json"))
        assert bool(found.placements) != bool(found.notes)

    def test_one_of_the_tree_stays_as_it_is(self, place: Place) -> None:
        write(place.checkout / "compile_commands.json", {"directory": str(place.checkout)})
        place.repo.git("add", "-f", "compile_commands.json")
        place.repo.commit()
        found = place.find()
        assert found.placements == {}
        assert "as it is there" in found.notes[0]

    def test_it_counts_for_the_identity(self, place: Place) -> None:
        none = place.find().identity
        write(place.checkout / "compile_commands.json", {"directory": "/a"})
        one = place.find().identity
        write(place.checkout / "compile_commands.json", {"directory": "/b"})
        assert len({none, one, place.find().identity}) == 3


def write(path: Path, *entries: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(entries))
