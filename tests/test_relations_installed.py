"""Relations into what is installed, when that changes in place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nibd.repair.private_tree import ModuleCaches
from nibd.repair.progress import Interrupted, Progress
from nibd.repair.relations import ask_again, repair
from nibd.stores.types import Assurance
from relations_world import World

POLITE = "def greet():\n    pass\n"
APP = "from polite import greet\n\ngreet()\n"
APPS = {".gitignore": ".venv\n"} | {f"app{number}.py": APP for number in range(4)}


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """One file a batch."""
    for module in (ask_again, repair):
        monkeypatch.setattr(module, "BATCH_SITES", 1)


def packages_of(world: World) -> Path:
    """Of the checkout's environment, which is made."""
    environment = world.repo.path / ".venv"
    packages = environment / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    (environment / "pyvenv.cfg").write_text("home = /nonexistent\nversion = 3.11.0\n")
    install(packages, "1.0", POLITE)
    return packages


def look(world: World) -> None:
    caches = ModuleCaches(world.folder.root / "go", world.folder.root / "cargo")
    world.relating.look(world.current().tree, world.repo.path, caches)


class Happening:
    """A reporter at whose first call `happen` is called, and which stops what reports at the second."""

    def __init__(self, happen: Callable[[], None]) -> None:
        self._happen = happen
        self._calls = 0

    def __call__(self, progress: Progress) -> None:
        if progress.stage not in ("python", "verify"):
            return
        self._calls += 1
        if self._calls == 1:
            self._happen()
        else:
            raise Interrupted


def install(packages: Path, version: str, text: str) -> None:
    """As pip does: the module, and a folder of records that names its version."""
    packages.mkdir(parents=True, exist_ok=True)
    for before in packages.glob("polite-*.dist-info"):
        for record in before.iterdir():
            record.unlink()
        before.rmdir()
    records = packages / f"polite-{version}.dist-info"
    records.mkdir()
    (records / "METADATA").write_text(f"Metadata-Version: 2.1\nName: polite\nVersion: {version}\n")
    (records / "RECORD").write_text("polite.py,,\n")
    (packages / "polite.py").write_text(text)


def test_names_in_a_package_are_those_of_the_version_that_is_installed_now(tmp_path: Path) -> None:
    files = {"app.py": "from polite import greet\n\ngreet()\n", ".gitignore": ".venv\n"}
    with World(tmp_path, "python", files) as world:
        environment = world.repo.path / ".venv"
        packages = environment / "lib" / "python3.11" / "site-packages"
        install(packages, "1.0", "def greet():\n    pass\n")
        (environment / "pyvenv.cfg").write_text("home = /nonexistent\nversion = 3.11.0\n")
        caches = ModuleCaches(tmp_path / "go", tmp_path / "cargo")
        world.publish()
        world.relating.look(world.current().tree, world.repo.path, caches)
        world.relate()
        first = world.targets("app.py", "greet", 1)
        assert [each.rpartition(":")[2] for each in first] == ["greet"]
        profile = world.relating.profile("python")

        install(packages, "1.1", "def hello():\n    pass\n\n\ndef greet():\n    pass\n")
        world.relating.look(world.current().tree, world.repo.path, caches)
        assert world.relating.profile("python") != profile
        world.relate()
        assert world.targets("app.py", "greet", 1) == first


def upgrade_in_vain(world: World, packages: Path) -> None:
    """As pip does when an upgrade fails: what is there is put aside, and then back in its place."""
    profile = world.relating.profile("python")
    aside = (packages / "polite.py").rename(packages.parent / "polite.py")
    aside.rename(packages / "polite.py")
    look(world)
    assert world.relating.profile("python") == profile


@pytest.mark.usefixtures("small_batches")
def test_a_build_that_goes_on_after_something_was_installed_meanwhile_is_only_repaired(
    tmp_path: Path,
) -> None:
    with World(tmp_path, "python", APPS) as world:
        packages = packages_of(world)
        world.publish()
        look(world)
        with pytest.raises(Interrupted):
            world.relate(report=Happening(lambda: upgrade_in_vain(world, packages)))
        world.shut()
        world.open()
        look(world)
        made = world.relate()
        assert 0 < len(made.asked) < 4
        assert made.record.assurance is Assurance.REPAIRED


@pytest.mark.usefixtures("small_batches")
def test_a_server_that_was_running_while_something_was_installed_builds_nothing_exact(tmp_path: Path) -> None:
    with World(tmp_path, "python", APPS) as world:
        packages = packages_of(world)
        world.publish()
        look(world)
        world.relating.bring(world.current(), "python", lambda _: None)
        upgrade_in_vain(world, packages)
        assert world.relate().record.assurance is Assurance.REPAIRED


@pytest.mark.usefixtures("small_batches")
def test_what_was_verified_while_something_was_installed_is_verified_again(tmp_path: Path) -> None:
    with World(tmp_path, "python", APPS) as world:
        packages = packages_of(world)
        world.publish()
        look(world)
        world.relate()
        world.commit({"words.txt": "words\n"})
        world.publish()
        look(world)
        world.relate()

        def happen() -> None:
            aside = (packages / "polite.py").rename(packages.parent / "polite.py")
            aside.rename(packages / "polite.py")

        made, _ = world.verify(Happening(happen))
        assert made.record.assurance is Assurance.REPAIRED
        look(world)
        made, _ = world.verify()
        assert len(made.asked) == 3  # but for the file before
        assert made.record.assurance is Assurance.VERIFIED
