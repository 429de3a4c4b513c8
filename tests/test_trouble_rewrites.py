"""History rewritten while the indexer was away: the base of the next repair may be gone from Git."""

from __future__ import annotations

from pathlib import Path

from gitrepo import Repo
from nibd.stores.types import View
from views import Views


def test_a_base_whose_trees_git_has_dropped_is_done_without(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    for number in range(8):
        repo.write(f"folder/file{number}.py", f"def name_{number}():\n    pass\n")
    repo.commit("one")
    repo.write("folder/file1.py", "def beta():\n    pass\n")
    repo.commit("two")
    views = Views(tmp_path / "views", repo)
    views.repair()
    gone = repo.git("rev-parse", "HEAD:folder")
    repo.write("folder/file1.py", "def gamma():\n    pass\n")
    repo.commit("two again", "--amend")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "--prune=now", "-q")
    assert repo.git("cat-file", "-t", gone, check=False) == ""
    views.reopen()
    made = views.repair()
    assert made.work.parsed == 1
    assert made.snapshot.views[View.LEXICAL].work["documents_added"] == 1
    assert views.differences() == []
    views.close()
