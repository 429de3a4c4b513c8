"""Whatever happens to a repository and to its stores: what is published equals a rebuild from nothing.

Hypothesis makes histories: edits of many kinds, commits, amends, branches, checkouts, resets, merges.
Between them views are repaired at some commits and not at others, from what this checkout showed or
what another did; some are interrupted or published in part; parts are discarded or folded, stores are
opened anew, and what is not needed is collected.
"""

from __future__ import annotations

import shutil
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitrepo import Repo
from gitsources import ls_tree
from nibd.query import comparison
from nibd.repair.policy import Policy
from nibd.repair.progress import Interrupted, Progress
from nibd.stores.types import View
from views import MAIN, OTHER, Views, quick_folder

EXAMPLES = 25
FILES = [
    b"a.py",
    b"b.py",
    b"run",
    b"pkg/a.py",
    b"pkg/deep",
    b"pkg/deep/c.h",
    b"pkg/deep/t.txt",
    b"notes.md",
    b"x\xff.txt",
    b"A.py",
]
RULE_FILES = [b".gitattributes", b"pkg/.gitattributes", b".nibdignore", b"pkg/deep/.nibdignore"]
CONTENTS = [
    b"",
    b"def one():\n    return 1\n",
    b"def one():\n    return 1\n\n\ndef two():\n    return one\n",
    b"class Box:\n    def one(self):\n        return 1\n\n    def lid(self):\n        return None\n",
    b"import os\n\n\ndef two():\n    return os\n",
    b"#!/bin/sh\nmain() {\n    echo one two\n}\n",
    b"struct point { int x; };\nint one(void) { return 1; }\n",
    b"namespace ns { class Box { int one() { return 1; } }; }\n",
    b"# Title\n\nSome words.\n\n## Part\n\nMore words of one.\n",
    b"words one two\r\nlid\r\n",
    b"\xef\xbb\xbfcaf\xc3\xa9 one\n",
    b"caf\xe9 one\n",
    b"one\x00two\n",
    b"x = 1  # one more than the limit\n" * 9,
    b"y=1;" * 60,
]
ATTRIBUTES = [
    b"*.py linguist-generated\n",
    b"a.py linguist-vendored\n*.h binary\n",
    b"*.txt binary\n*.md linguist-generated\n* -linguist-vendored\n",
    b"* linguist-vendored\n*.py !linguist-vendored\n",
    b"\n",
]
IGNORES = [b"*.py\n", b"deep/\n*.md\n", b"*\n!*.py\n!*/\n", b"a.*\n!a.py\nt.txt\n", b"\n"]
START = dict(zip(FILES, (1, 2, 5, 1, None, 6, 9, 8, 10, 3), strict=True))
"""The files of the first commit, with which of the contents; `pkg/deep` is a folder at first."""
POLICIES = [Policy(max_file_bytes=280), Policy(max_file_bytes=280, index_generated=True, ignore=("run",))]

files = st.sampled_from(FILES)
contents = st.sampled_from(CONTENTS)
edit = st.one_of(
    st.tuples(st.just("write"), files, contents),
    st.tuples(st.just("write"), files, contents),
    st.tuples(st.just("write"), st.sampled_from(RULE_FILES[:2]), st.sampled_from(ATTRIBUTES)),
    st.tuples(st.just("write"), st.sampled_from(RULE_FILES[2:]), st.sampled_from(IGNORES)),
    st.tuples(st.just("delete"), st.sampled_from(RULE_FILES)),
    st.tuples(st.just("delete"), files),
    st.tuples(st.just("move"), files, files),
    st.tuples(st.just("copy"), files, files),
    st.tuples(st.just("chmod"), files),
    st.tuples(st.just("symlink"), st.sampled_from(FILES + RULE_FILES), files),
)
record = st.one_of(
    st.just(("commit",)),
    st.just(("commit",)),
    st.just(("amend",)),
    st.tuples(st.just("checkout"), st.integers(0, 2)),
    st.tuples(st.just("reset"), st.integers(1, 3)),
    st.tuples(st.just("merge"), st.integers(0, 2)),
)
upkeep = st.one_of(
    st.just(("nothing",)),
    st.just(("nothing",)),
    st.just(("reopen",)),
    st.tuples(st.just("collect"), st.integers(0, 2), st.booleans()),
    st.tuples(st.just("policy"), st.sampled_from(POLICIES)),
    st.tuples(st.just("discard"), st.sampled_from(list(View))),
    st.tuples(st.just("other"), st.integers(0, 2)),
    st.just(("rebased",)),
    st.just(("interrupt",)),
    st.just(("partial",)),
    st.just(("fold",)),
)
turn = st.tuples(st.lists(edit, min_size=1, max_size=3), record, upkeep, st.sampled_from([True, True, False]))


class World:
    """A repository with up to three branches, and its views."""

    def __init__(self, folder: Path) -> None:
        self.repo = Repo(folder / "repo")
        for path, content in START.items():
            if content is not None:
                self.repo.write(path, CONTENTS[content])
        self.repo.commit("first")
        self.repo.git("branch", "-m", "b0")
        self.views = Views(folder / "views", self.repo, POLICIES[0])
        self.discard: list[View] = []

    def edit(self, kind: str, path: bytes, extra: bytes = b"") -> None:
        target = self.repo.file(path)
        there = target.is_file() and not target.is_symlink()
        if kind == "write":
            self._make_room(path)
            self.repo.write(path, extra)
        elif kind == "symlink":
            self._make_room(path)
            self.repo.symlink(path, extra)
        elif kind == "delete" and (there or target.is_symlink()):
            target.unlink()
        elif kind == "chmod" and there:
            target.chmod(stat.S_IMODE(target.stat().st_mode) ^ 0o111)
        elif kind in {"move", "copy"} and there and path != extra:
            data = target.read_bytes()
            if kind == "move":
                target.unlink()
            self._make_room(extra)
            self.repo.write(extra, data)

    def _make_room(self, path: bytes) -> None:
        """Nothing stands at `path`, and no file where it needs a folder."""
        target = self.repo.file(path)
        for folder in [*target.parents][: path.count(b"/")]:
            if folder.is_symlink() or folder.is_file():
                folder.unlink()
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        elif target.is_symlink() or target.exists():
            target.unlink()

    def record(self, kind: str, number: int = 0) -> None:
        self.repo.commit("change", *(["--amend"] if kind == "amend" else []))
        branch = f"b{number}"
        known = bool(self.repo.git("branch", "--list", branch))
        if kind == "checkout":
            self.repo.git("checkout", "-q", branch if known else "-b", *([] if known else [branch]))
        elif kind == "reset":
            self.repo.git("reset", "-q", "--hard", f"HEAD~{number}", check=False)  # there may be fewer
        elif kind == "merge" and known:
            self.repo.git("merge", "-q", "--no-edit", "-X", "theirs", branch, check=False)
            self.repo.git("merge", "--abort", check=False)  # when it stopped at a conflict

    def keep_up(self, kind: str, *values: object) -> None:
        views = self.views
        match kind, values:
            case "reopen", ():
                views.reopen()
            case "collect", (int(keep), bool(deep)):
                views.collect(keep, deep=deep)
            case "policy", (Policy() as policy,):
                views.policy = policy
            case "discard", (View() as view,):
                self.discard.append(view)
            case "other", (int(back),):
                at = f"HEAD~{back}"
                known = self.repo.git("rev-parse", "-q", "--verify", at, check=False)
                views.repair(at if known else "HEAD", OTHER)
            case "rebased", ():
                views.stores.catalog.forget(MAIN)  # as for a checkout that was never seen
            case "interrupt", ():
                views.report = _stop
                with suppress(Interrupted):
                    views.repair()
                views.report = lambda _: None
            case "partial", ():
                views.repair(embed=False)
                views.embed(1)
                views.repair_dense()
            case "fold", ():
                views.fold()
            case _:
                assert kind == "nothing"

    def check(self) -> None:
        self.views.repair(discard=self.discard)
        self.discard = []
        assert self.views.differences() == []
        listing = self.views.side().listing
        listed = sorted((f.path, f.mode, f.blob) for _, f in self.views.stores.structure.files(listing))
        assert listed == sorted((e.path, e.mode, e.blob) for e in ls_tree(self.repo, "HEAD"))


def _stop(_: Progress) -> None:
    raise Interrupted


@contextmanager
def world() -> Iterator[World]:
    with quick_folder() as folder:
        made = World(folder)
        with closing(made.views):
            yield made


@pytest.fixture(scope="module", autouse=True)
def few_queries() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparison, "QUERIES", 6)  # at every level, for each of many small trees
        yield


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(turn, min_size=3, max_size=6))
def test_any_history_and_any_repairs_equal_a_rebuild(
    turns: list[tuple[list[tuple[str, bytes, bytes]], tuple[str, int], tuple[str], bool]],
) -> None:
    with world() as made:
        made.views.repair()
        for edits, recorded, kept_up, repaired in turns:
            for each in edits:
                made.edit(*each)
            made.record(*recorded)
            made.keep_up(*kept_up)
            if repaired:
                made.check()
        made.check()


def test_a_hundred_commits_and_one_repair_equal_a_rebuild() -> None:
    with world() as made:
        made.views.repair()
        for number in range(100):
            kind = ("write", "write", "move", "chmod", "delete", "copy")[number % 6]
            path, extra = FILES[number * 7 % len(FILES)], CONTENTS[number * 5 % len(CONTENTS)]
            made.edit(kind, path, FILES[number * 3 % len(FILES)] if kind in {"move", "copy"} else extra)
            if number % 9 == 0:
                rules = (ATTRIBUTES, ATTRIBUTES, IGNORES, IGNORES)[number % 4]
                made.edit("write", RULE_FILES[number % 4], rules[number % len(rules)])
            made.repo.commit("change")
        made.check()


def test_a_first_build_by_worker_processes_equals_one_by_this_process(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    for number in range(200):
        repo.write(f"d{number % 7}/f{number}.py", CONTENTS[number % len(CONTENTS)] + b"# %d\n" % number)
    repo.commit("many")
    with closing(Views(tmp_path / "views", repo, workers=2)) as views:
        made = views.repair()
        assert (made.work.read, made.work.parsed) == (200, 200)
        assert views.differences() == []
