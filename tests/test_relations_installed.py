"""Relations into what is installed, when that changes in place."""

from __future__ import annotations

from pathlib import Path

from nibd.repair.private_tree import ModuleCaches
from relations_world import World


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
