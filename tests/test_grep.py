"""Grep over snapshots, against brute force: each text of the tree, read by git, searched by Python's `re`."""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitrepo import Repo, run_git
from nibd.daemon.answers import Blobs
from nibd.daemon.filtering import Changes
from nibd.daemon.grepping import Grep, Request
from nibd.daemon.parameters import Parameters
from nibd.daemon.path_globs import GlobError, PathGlobs
from nibd.daemon.registry import Checkout
from nibd.daemon.views import RepositoryViews
from nibd.ipc.messages import RpcError
from nibd.query import grep as searching
from nibd.stores.database import open_database
from nibd.stores.trigram_store import Candidates, migrations
from nibd.stores.types import CheckoutId, CommitId, RepositoryId, View
from views import MAIN, Views

Hits = list[tuple[str, int, str]]
Listed = list[tuple[str, list[str]]]


class World:
    """A repository with its views, and grep over them."""

    def __init__(self, root: Path) -> None:
        self.repo = Repo(root / "repo")
        self.views = Views(root / "views", self.repo)
        self.views.dense_absent = "not wanted"
        self.blobs = Blobs()
        git = self.repo.path / ".git"
        self.checkout = Checkout(CheckoutId("main"), RepositoryId("r"), self.repo.path, git, git, 0.0)
        self.damage: list[Candidates] = []
        self._lines: dict[str, Listed] = {}

    def commit(self) -> str:
        commit = self.repo.commit()
        self.views.repair()
        return commit

    def grep(self, pattern: str, *, at: str | None = None, **params: Any) -> dict[str, Any]:
        request = Request.take(Parameters({"pattern": pattern, **params}))
        reader = RepositoryViews(self.views.folder)
        commit = CommitId(at) if at else None
        try:
            with reader.reading(MAIN, frozenset({View.STRUCTURAL}), commit) as reading:
                assert reading is not None
                grep = Grep(
                    request, self.checkout, self.blobs, Changes(), threading.Event(), self.damage.append
                )
                return grep.answer(reading)
        finally:
            reader.close()

    def hits(self, pattern: str, **params: Any) -> Hits:
        answer = self.grep(pattern, **{"k": 10_000, **params})
        assert answer["partial"] is None
        return [(hit["path"], hit["line"], hit["text"]) for hit in answer["hits"]]

    def brute_force(self, pattern: str, revision: str = "HEAD", ignore_case: bool = False) -> Hits:
        wanted = re.compile(pattern, re.ASCII | (re.IGNORECASE if ignore_case else 0))
        return [
            (path, number, line)
            for path, lines in self._listed(revision)
            for number, line in enumerate(lines, 1)
            if wanted.search(line)
        ]

    def _listed(self, revision: str) -> Listed:
        """The lines of each text, read by git once for all the patterns that are looked for in a commit."""
        commit = self.repo.git("rev-parse", revision)
        if commit not in self._lines:
            self._lines[commit] = [*self._read(commit)]
        return self._lines[commit]

    def _read(self, commit: str) -> Iterator[tuple[str, list[str]]]:
        listed = run_git("ls-tree", "-r", "-z", commit, cwd=self.repo.path).stdout.split(b"\0")[:-1]
        for entry in listed:
            mode, kind, rest = entry.split(b" ", 2)
            blob, _, path = rest.partition(b"\t")
            if kind != b"blob" or mode == b"120000":
                continue
            data = run_git("cat-file", "blob", blob, cwd=self.repo.path).stdout
            text = text_of(data)
            if text is None or len(data) > 1 << 20:
                continue
            lines = text.replace("\r\n", "\n").split("\n")
            yield path.decode("utf-8", "backslashreplace"), lines[:-1] if lines[-1] == "" else lines


def text_of(data: bytes) -> str | None:
    """As a careful editor would open it; `None` for a binary file."""
    for mark, encoding in (
        (b"\xff\xfe", "utf-16-le"),
        (b"\xfe\xff", "utf-16-be"),
        (b"\xef\xbb\xbf", "utf-8"),
    ):
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding)
    if b"\0" in data[:8000]:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("cp1252")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.views.close()


PATTERNS = (
    "value", "value_1[0-9]", "(get|set)_value", "^def ", "return .*x$", "é", "caf.", "a.c", "^$", "x",
    "[xz]_",
    "class \\w+\\(", "nowhere_at_all", "va+lue", "(value|nothing)_2", "\\bx\\b", "  +return", "$",
)  # fmt: skip
WORDS = ["value", "get_value", "set_value", "def f(x):", "return x", "café", "class A(B):", "x_1", "", "abc"]


def source(number: int, generator: random.Random) -> str:
    lines = [f"{generator.choice(WORDS)}_{generator.randrange(30)}" for _ in range(generator.randrange(40))]
    return "\n".join([*lines, f"value_{number}", ""])


def test_any_transitions_give_what_brute_force_gives(world: World) -> None:
    generator = random.Random(4)
    names = [f"{folder}file{number}.py" for number in range(12) for folder in ("", "src/", "tests/")]
    for step in range(6):
        for path in generator.sample(names, 12):
            if (world.repo.path / path).exists() and generator.random() < 0.3:
                (world.repo.path / path).unlink()
            else:
                world.repo.write(path, source(step, generator))
        world.commit()
        if step % 2:
            world.views.fold()
        if step == 3:
            world.views.collect()
        for pattern in PATTERNS:
            assert world.hits(pattern) == world.brute_force(pattern), pattern
            assert world.hits(pattern, ignore_case=True) == world.brute_force(pattern, ignore_case=True)
    assert world.damage == []


def test_text_in_any_encoding_is_found_and_what_is_no_text_is_counted(world: World) -> None:
    world.repo.write("utf8.txt", "naïve café\n")
    world.repo.write("latin1.txt", "naïve café\n".encode("latin-1"))
    world.repo.write("utf16.txt", b"\xff\xfe" + "first\nnaïve café\n".encode("utf-16-le"))
    world.repo.write("mark.txt", b"\xef\xbb\xbf" + "café\n".encode())
    world.repo.write("windows.txt", "one\r\ncafé\r\nlast\r\n")
    world.repo.write("no_end.txt", "café")
    world.repo.write("empty.txt", "")
    world.repo.write("binary.bin", b"\0\1\2caf\xe9\n")
    world.repo.write("large.txt", "café\n" * 250_000)
    world.repo.write("minified.js", "var café=1;" * 2000)
    world.repo.write(b"odd\xff name.txt", "café\n")
    (world.repo.path / "link").symlink_to("utf8.txt")
    world.commit()
    found = {(path, line) for path, line, _ in world.hits("café$")}
    assert found == {
        ("utf8.txt", 1), ("latin1.txt", 1), ("utf16.txt", 2), ("mark.txt", 1), ("windows.txt", 2),
        ("no_end.txt", 1), ("odd\\xff name.txt", 1),
    }  # fmt: skip
    answer = world.grep("caf[é]")
    assert {"binary": 1, "too_large": 1}.items() <= answer["not_searched"].items()
    (minified,) = (hit for hit in answer["hits"] if hit["path"] == "minified.js")
    assert minified["cut"]
    assert len(minified["text"]) <= 400
    assert world.hits("^café") == [
        ("mark.txt", 1, "café"), ("no_end.txt", 1, "café"),
        ("odd\\xff name.txt", 1, "café"), ("windows.txt", 2, "café"),
    ]  # fmt: skip


def test_an_older_snapshot_answers_with_what_it_had(world: World) -> None:
    world.repo.write("a.py", "old_name = 1\n")
    world.repo.write("gone.py", "old_name = 2\n")
    first = world.commit()
    world.repo.write("a.py", "new_name = 1\n")
    (world.repo.path / "gone.py").unlink()
    second = world.commit()
    assert world.hits("old_name", at=first) == [("a.py", 1, "old_name = 1"), ("gone.py", 1, "old_name = 2")]
    assert world.hits("old_name", at=second) == []
    assert world.hits("new_name") == [("a.py", 1, "new_name = 1")]
    assert world.hits("new_name", at=first) == []


def test_pages_in_a_row_are_the_whole(world: World) -> None:
    for number in range(7):
        world.repo.write(f"{number}.py", "hit\nmiss\nhit\n" * number)
    world.commit()
    whole = world.hits("hit")
    assert len(whole) == 42
    for size in (1, 5, 42, 43):
        pages: Hits = []
        offset: int | None = 0
        while offset is not None:
            answer = world.grep("hit", k=size, offset=offset)
            pages += [(hit["path"], hit["line"], hit["text"]) for hit in answer["hits"]]
            assert len(answer["hits"]) == size or answer["next_offset"] is None
            offset = answer["next_offset"]
        assert pages == whole
    counts = world.grep("hit", mode="count")["hits"]
    assert [(hit["path"], hit["count"]) for hit in counts] == [(f"{n}.py", 2 * n) for n in range(1, 7)]
    files = world.grep("hit", mode="files", k=2, offset=3)
    assert [hit["path"] for hit in files["hits"]] == ["4.py", "5.py"]
    assert files["next_offset"] == 5


def test_what_there_was_no_time_for_is_named_and_can_be_gone_on_with(world: World) -> None:
    for number in range(9):
        world.repo.write(f"{number}.py", "hit\n")
    world.commit()
    found: list[str] = []
    start, steps = "", 0
    while True:
        answer = world.grep(".", time_s=0, **({"from": start} if start else {}))
        found += [hit["path"] for hit in answer["hits"]]
        steps += 1
        if answer["partial"] is None:
            break
        assert answer["partial"]["reason"] == "out_of_time"
        assert answer["partial"]["from"] > start
        start = answer["partial"]["from"]
    assert steps == 9  # without any time each step leaves out one file, and says so
    assert found == []
    assert answer["not_searched"] == {"out_of_time": 1}


def test_a_search_that_ran_out_of_time_keeps_what_it_found_in_whole_files(world: World) -> None:
    for number in range(4):
        world.repo.write(f"{number}.py", "hit\n" * 3)
    world.commit()
    asked = Request.take(Parameters({"pattern": "hit"})).asked
    files = [file for _, file in world.views.side().structure.files(world.views.side().listing)]
    paused = 0

    def pause() -> None:
        nonlocal paused
        paused += 1
        if paused > 4:  # twice a file: in the middle of the third
            raise searching.OutOfTimeError

    page = searching.search(
        asked, sorted(files, key=lambda f: f.path), lambda _: True, lambda _: b"hit\n" * 3, pause
    )
    assert [found.file.path for found in page.found] == [b"0.py"] * 3 + [b"1.py"] * 3
    assert (page.stopped_at, page.searched) == (b"2.py", 2)


def test_filters_narrow_what_is_searched(world: World) -> None:
    paths = ["a.py", "src/b.py"]
    paths += ["src/deep/c.go", "tests/test_d.py", "src/e_test.go", "docs/f.md", "src/g.txt"]
    for path in paths:
        world.repo.write(path, "needle\n")
    for path in ("lib/bundle.test.js", "src/bundle.js"):  # minified: without units, searched all the same
        world.repo.write(path, "needle " + "x" * 3000 + "\n")
    world.commit()

    def files(**params: Any) -> list[str]:
        return [hit["path"] for hit in world.grep("needle", mode="files", **params)["hits"]]

    assert files(paths=["*.go"]) == ["src/deep/c.go", "src/e_test.go"]
    assert files(paths=["src/*.py", "docs"]) == ["docs/f.md", "src/b.py"]
    assert files(paths=["src/**/*.go"]) == ["src/deep/c.go", "src/e_test.go"]
    assert files(paths=["src", "!src/deep/", "!*.txt"]) == ["src/b.py", "src/bundle.js", "src/e_test.go"]
    assert files(paths=["!src"]) == ["a.py", "docs/f.md", "lib/bundle.test.js", "tests/test_d.py"]
    assert files(language="go") == ["src/deep/c.go", "src/e_test.go"]
    assert files(language="javascript") == ["lib/bundle.test.js", "src/bundle.js"]
    tests = ["lib/bundle.test.js", "src/e_test.go", "tests/test_d.py"]
    assert files(tests="only") == tests
    assert files(tests="without") == [path for path in files() if path not in tests]
    assert files(**{"from": "src/deep"}) == files()[-5:][1:]


def test_hits_say_where_in_the_line_and_what_is_around(world: World) -> None:
    world.repo.write("a.py", "one\néü needle needle\nthree\n")
    world.commit()
    (hit,) = world.grep("needle", context=1)["hits"]
    assert (hit["line"], hit["column"], hit["end_column"]) == (2, 4, 10)
    assert (hit["before"], hit["after"], hit["cut"]) == (["one"], ["three"], False)
    assert hit["edited"] is False
    world.repo.write("a.py", "edited\n")
    (hit,) = world.grep("needle")["hits"]
    assert hit["edited"] is True


def test_only_candidates_are_read(world: World) -> None:
    for number in range(30):
        world.repo.write(f"{number}.py", f"unique_{number:04}\n")
    world.commit()
    answer = world.grep("unique_0017")
    assert (answer["searched"], answer["candidates"], answer["unfiltered"]) == (1, 1, 0)
    assert world.grep(".*")["searched"] == 30


def test_damaged_trigrams_hide_nothing_are_reported_and_mended(world: World) -> None:
    for number in range(5):
        world.repo.write(f"{number}.py", f"unique_{number:04}\n")
    world.commit()
    world.views.stores.trigrams.fold()
    database = open_database(world.views.folder.trigrams, migrations)
    database.rows("UPDATE posting SET payload = zeroblob(length(payload))")
    database.close()
    assert world.hits("unique_0003") == [("3.py", 1, "unique_0003")]
    assert world.damage
    assert world.damage[-1].damage is not None
    world.views.fold()
    world.damage.clear()
    answer = world.grep("unique_0003")
    assert (answer["candidates"], answer["unfiltered"], world.damage) == (1, 0, [])


@pytest.mark.parametrize("content", [None, b"not a database " * 500])
def test_trigrams_that_are_gone_or_no_database_are_done_without_and_made_anew(
    world: World, content: bytes | None
) -> None:
    world.repo.write("a.py", "unique_1\n")
    world.repo.write("b.py", "unique_2\n")
    world.commit()
    world.views.close()
    for suffix in ("", "-wal", "-shm"):
        world.views.folder.trigrams.with_name("trigrams.db" + suffix).unlink(missing_ok=True)
    if content:
        world.views.folder.trigrams.write_bytes(content)
    assert world.hits("unique_2") == [("b.py", 1, "unique_2")]
    assert world.damage[-1].uncovered == 2
    world.views.open()
    world.repo.write("c.py", "unique_3\n")
    world.repo.commit()
    assert world.views.repair().outcome.fold  # it says that something is to be made
    world.views.fold()
    answer = world.grep("unique_2")
    assert (answer["candidates"], answer["unfiltered"]) == (1, 0)


def test_trigrams_do_not_outlive_the_rows_that_they_speak_of(world: World) -> None:
    world.repo.write("a.py", "first\n")
    world.commit()
    world.views.close()
    for name in ("structure.db", "catalog.db", "facts.db"):
        for suffix in ("", "-wal", "-shm"):
            world.views.folder.root.joinpath(name + suffix).unlink(missing_ok=True)
    world.views.open()
    world.repo.write("a.py", "second\n")
    world.commit()
    assert world.hits("second") == [("a.py", 1, "second")]


def test_a_row_whose_number_comes_again_after_a_collection_is_found_by_its_own_text(world: World) -> None:
    world.repo.write("a.py", "first\n")
    world.commit()
    world.repo.write("b.py", "doomed\n")
    world.commit()
    world.views.stores.trigrams.fold()
    (world.repo.path / "b.py").unlink()
    world.commit()
    world.views.collect()
    world.repo.write("c.py", "later\n")
    world.commit()
    assert world.hits("later") == [("c.py", 1, "later")]
    assert world.hits("doomed") == []


def test_a_missing_object_is_counted(world: World) -> None:
    world.repo.write("a.py", "unique_1\n")
    world.repo.write("b.py", "unique_2\n")
    world.commit()
    blob = world.repo.git("rev-parse", "HEAD:b.py")
    (world.repo.path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    answer = world.grep("unique")
    assert [hit["path"] for hit in answer["hits"]] == ["a.py"]
    assert answer["not_searched"] == {"missing_object": 1}


def test_a_cancelled_search_ends(world: World) -> None:
    for number in range(5):
        world.repo.write(f"{number}.py", "hit\n")
    world.commit()
    cancelled = threading.Event()
    cancelled.set()
    reader = RepositoryViews(world.views.folder)
    with reader.reading(MAIN, frozenset({View.STRUCTURAL})) as reading:
        assert reading is not None
        request = Request.take(Parameters({"pattern": "."}))
        grep = Grep(request, world.checkout, world.blobs, Changes(), cancelled, world.damage.append)
        answer = grep.answer(reading)
    reader.close()
    assert answer["hits"] == []


def test_hostile_patterns_take_no_time_worth_mentioning(world: World) -> None:
    world.repo.write("a.txt", "a" * 900_000 + "!\n")
    world.commit()
    started = time.monotonic()
    for hostile in (r"(a+)+$", r"(a|a)*b", r"(.*a){20}b"):
        assert world.hits(hostile, time_s=25) == []
    assert time.monotonic() - started < 25  # what backtracks takes longer than the universe is old


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"pattern": "a(b"}, "pattern: missing )"),
        ({"pattern": ""}, "pattern: found ''"),
        ({"pattern": "a", "paths": ["src/["]}, "paths: 'src/['"),
        ({"pattern": "a", "paths": "src"}, "paths: found 'src'"),
        ({"pattern": "a", "language": "klingon"}, "language: found 'klingon'"),
        ({"pattern": "a", "kinds": ["class", "klingon"]}, "kinds: found 'klingon'; allowed: file, "),
        ({"pattern": "a", "kinds": "class"}, "kinds: found 'class'; allowed: a list of file, "),
        ({"pattern": "a", "context": 21}, "context: found 21"),
        ({"pattern": "a", "mode": "words"}, "mode: found 'words'"),
        ({"pattern": "a", "from": "/etc"}, "from: found '/etc'"),
        ({"pattern": "a", "tests": True}, "tests: found True"),
    ],
)
def test_what_can_not_be_asked_is_refused_with_the_parameter(params: dict[str, Any], said: str) -> None:
    with pytest.raises(RpcError) as error:
        Request.take(Parameters(params))
    assert said in error.value.message
    if params["pattern"] == "a(b":
        assert error.value.data == {"position": 1}


@pytest.mark.parametrize("glob", ["", "!", "src/[", "a\\"])
def test_a_glob_that_can_match_nothing_is_an_error(glob: str) -> None:
    with pytest.raises(GlobError):
        PathGlobs.parse([glob])
