"""The file that remembers which checkouts a user gave to nibd."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nibd.daemon.registry import Checkout, Registry, RegistryError, checkout_id, repository_id


def checkout(work_tree: Path, common_dir: Path | None = None) -> Checkout:
    git_dir = work_tree / ".git"
    common = common_dir or git_dir
    return Checkout(checkout_id(git_dir), repository_id(common), work_tree, git_dir, common, 1.5)


def test_what_was_added_is_there_for_the_next_daemon(tmp_path: Path) -> None:
    odd = Path(os.fsdecode(b"/home/me/caf\xe9 'x'\n/repo"))
    first = Registry(tmp_path / "state" / "registry.json")
    assert first.add(checkout(odd))
    assert not first.add(checkout(odd))
    assert Registry(tmp_path / "state" / "registry.json").checkouts == [checkout(odd)]


def test_a_path_belongs_to_the_innermost_checkout(tmp_path: Path) -> None:
    registry = Registry(tmp_path / "registry.json")
    outer, inner = checkout(Path("/a/repo")), checkout(Path("/a/repo/vendor/lib"))
    registry.add(outer)
    registry.add(inner)
    assert registry.containing(Path("/a/repo/src/x.py")) == outer
    assert registry.containing(Path("/a/repo/vendor/lib")) == inner
    assert registry.containing(Path("/a/repo/vendor/lib/y.py")) == inner
    assert registry.containing(Path("/a/repository")) is None


def test_linked_work_trees_share_a_repository_and_clones_do_not() -> None:
    common = Path("/a/repo/.git")
    linked = checkout(Path("/a/linked"), common)
    main = checkout(Path("/a/repo"))
    clone = checkout(Path("/b/repo"))
    assert main.repository == linked.repository
    assert main.id != linked.id
    assert clone.repository != main.repository
    assert clone.repository.startswith("repo-")


def test_a_removed_checkout_stays_removed(tmp_path: Path) -> None:
    registry = Registry(tmp_path / "registry.json")
    kept, gone = checkout(Path("/a/kept")), checkout(Path("/a/gone"))
    registry.add(kept)
    registry.add(gone)
    registry.remove(gone.id)
    assert Registry(tmp_path / "registry.json").checkouts == [kept]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 1}', '{"format": 9, "checkouts": []}'])
def test_a_damaged_registry_is_refused_by_name_and_left_as_it_is(tmp_path: Path, content: str) -> None:
    path = tmp_path / "registry.json"
    path.write_text(content)
    with pytest.raises(RegistryError, match=r"registry\.json"):
        Registry(path)
    assert path.read_text() == content
