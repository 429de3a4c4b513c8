"""What a query says, by what stands in it."""

from __future__ import annotations

import pytest

from nibd.query.ranking.understanding import MOST_CHARACTERS, Shape, understand
from nibd.query.ranking.weights import Zone


def tokens(text: str, zone: Zone) -> list[str]:
    return [token for token, where in understand(text).tokens if where is zone]


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("load_plan", Shape.SYMBOL), (" a::B.c \n", Shape.SYMBOL), ("how are plans loaded", Shape.SHORT),
        ("word " * 17, Shape.ISSUE), ("title\n\nand a body", Shape.ISSUE),
    ],
)  # fmt: skip
def test_the_shape_goes_by_length_and_lines(text: str, shape: Shape) -> None:
    assert understand(text).shape is shape


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [
        ("# A title\nrest", Zone.TITLE, ["A", "title"]),
        ("Title: A bug\nrest", Zone.TITLE, ["A", "bug"]),
        ("### Title\n\nA bug\nrest", Zone.TITLE, ["A", "bug"]),
        ("a `load_plan` bug", Zone.TITLE_CODE, ["load_plan"]),
        ("t\nsome prose `code` here", Zone.PROSE, ["some", "prose", "here"]),
        ("t\nsome prose `code` here", Zone.INLINE, ["code"]),
        ("t\n## Steps to do\nx", Zone.HEAD, ["Steps", "to", "do"]),
        ("t\n**Bold line**\nx", Zone.HEAD, ["Bold", "line"]),
        ("t\n```py\nx = 1\n```\nafter", Zone.CODE, ["x", "1"]),
        ("t\n```py\nx = 1\n```\nafter", Zone.PROSE, ["after"]),
        ("t\n    indented(call)", Zone.CODE, ["indented", "call"]),
        ("t\n## Environment\nlinux 5\n```\nmore\n```", Zone.ENVIRONMENT, ["linux", "5", "more"]),
        ("t\n- [x] I have read it\n* [ ] and that", Zone.PROSE, []),
        ("t\n<!-- a comment\nof lines --> rest", Zone.PROSE, ["rest"]),
        ("t\n![shot](a/b.png) see https://x.org/a_b", Zone.PROSE, ["see"]),
        ("t\n<details><summary>More</summary>", Zone.PROSE, ["More"]),
    ],
)
def test_words_are_told_apart_by_where_they_stand(text: str, zone: Zone, expected: list[str]) -> None:
    assert tokens(text, zone) == expected


@pytest.mark.parametrize(
    ("line", "path", "number", "function"),
    [
        ('  File "/usr/lib/a/b.py", line 12, in run', "/usr/lib/a/b.py", 12, "run"),
        ("    at Object.run (/srv/a/b.js:10:5)", "/srv/a/b.js", 10, "Object.run"),
        ("    at /srv/a/b.ts:10:5", "/srv/a/b.ts", 10, ""),
        ("\tat org.x.Job.run(Job.java:7)", "Job.java", 7, "org.x.Job.run"),
        ("#3  0x00007f in ns::run (x=1) at src/a.cc:44", "src/a.cc", 44, "ns::run"),
        ("\t/go/src/x/a.go:31 +0x1d", "/go/src/x/a.go", 31, ""),
        ("  --> src/a/b.rs:5:9", "src/a/b.rs", 5, ""),
    ],
)
def test_stack_frames_of_many_languages_are_known(line: str, path: str, number: int, function: str) -> None:
    (frame,) = understand(f"it fails\n\n{line}\n").frames
    assert (frame.path, frame.line, frame.function, frame.depth) == (path, number, function, 0)


def test_frames_count_from_the_one_that_is_printed_last() -> None:
    trace = "\n".join(f'File "{name}.py", line 1, in f' for name in "abc")
    assert [(frame.path, frame.depth) for frame in understand(f"t\n{trace}").frames] == [
        ("c.py", 0), ("b.py", 1), ("a.py", 2)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see src/a/b.py now", ["src/a/b.py"]), ("see b.py now", ["b.py"]), ("no path here", []),
        ("https://h.org/o/r/blob/main/src/x.go#L2", ["src/x.go"]),
    ],
)  # fmt: skip
def test_paths_are_taken_from_text_and_addresses(text: str, expected: list[str]) -> None:
    assert [path for path, _ in understand(f"t\n{text}").paths] == expected


PLACES: dict[str, list[tuple[str, int]]] = {
    "conf.py:80 fails": [("conf.py", 80)],
    "see src/a/b.vue:12:4": [("src/a/b.vue", 12)],
    "in main.rs:8 and run.sh:9": [("main.rs", 8), ("run.sh", 9)],
    "config.h.in:3, .env.local:4, Dockerfile.dev:5": [
        ("config.h.in", 3), ("env.local", 4), ("Dockerfile.dev", 5)
    ],
    "sites/example.com:12 has it": [("sites/example.com", 12)],
    "sites/example.com.conf:12": [("sites/example.com.conf", 12)],
    "/srv/x/y.vue:7": [("srv/x/y.vue", 7)],
    "listens on example.com:8080": [],
    "Example.COM:443 and api.internal:80": [],
    "127.0.0.1:8000 or 0.0.0.0:80": [],
    "localhost:8000": [],
    "foo.localhost:8000": [],
    "at 12:30, or 2024-01-02T12:30:59": [],
    "    x = f('redis://cache.prod:6379')": [],
    "    x = f('app://db.py:80/a')": [],
    "    x = f('app://h.org:80/a/b.vue:10:5')": [("a/b.vue", 10)],
    "https://example.com:8080/a/b": [],
}  # fmt: skip


@pytest.mark.parametrize(("text", "places"), PLACES.items())
def test_a_port_or_a_time_is_no_line_of_a_file(text: str, places: list[tuple[str, int]]) -> None:
    assert [(each.path, each.line) for each in understand(f"t\n{text}").positions] == places


@pytest.mark.parametrize(
    "line",
    ["at example.com:8080", "    at 10.0.0.1:8000", "#12 connect to 127.0.0.1:8000", "#12 at example.com:80"],
)
def test_a_host_is_in_no_stack_frame(line: str) -> None:
    assert understand(f"it fails\n\n{line}\n").frames == []


def test_a_port_is_a_word() -> None:
    assert tokens("t\nlistens on example.com:8080", Zone.PROSE)[-1] == "8080"
    assert tokens("t\nlistens in conf.py:8080", Zone.PROSE)[-1] == "py"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("call loadPlan now", ["loadPlan"]), ("call load_plan()", ["load_plan"]), ("a::b->c", ["a::b->c"]),
        ("plain words only", []), ("`plain` word", ["plain"]), ("HTTPServer", ["HTTPServer"]),
    ],
)  # fmt: skip
def test_names_are_what_looks_like_one_or_is_quoted(text: str, expected: list[str]) -> None:
    assert [name for name, _ in understand(f"t\n{text}").identifiers] == expected


@pytest.mark.parametrize(
    "line",
    ["a/" * 20_000, "# " + " " * 40_000 + "x", "at " + "x" * 40_000, "<!--" * 10_000, "`" * 40_000,
     "#1 " + " at a" * 8_000, "![" * 20_000, "<p" * 20_000, "a-" * 20_000, "**" * 20_000, "a." * 20_000],
)  # fmt: skip
def test_no_text_takes_long_to_understand(line: str) -> None:
    """A pattern that goes wrong would take years for one of these."""
    for text in (line, f"t\n{line}", "t\n" + "\n".join(line[at : at + 500] for at in range(0, 20_000, 500))):
        assert len(understand(text).tokens) <= len(text)


def test_what_stands_far_behind_is_not_read() -> None:
    assert "behind" not in tokens("t\n" + "x\n" * MOST_CHARACTERS + "behind", Zone.PROSE)


def test_rows_of_tables_are_data_and_a_configuration_is_the_environment() -> None:
    text = "it fails\n\n| plum | pear |\n\na | b says fig\n\n### Configuration\n\n| quince | 1 |\n"
    assert tokens(text, Zone.CODE) == ["plum", "pear"]
    assert tokens(text, Zone.PROSE) == ["a", "b", "says", "fig"]
    assert tokens(text, Zone.ENVIRONMENT) == ["quince", "1"]


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [
        ("helpers.py:200", Zone.TITLE, ["helpers", "py"]),
        ("t\nsee b.go:31:4 at 12:30", Zone.PROSE, ["see", "b", "go", "at", "12", "30"]),
        ('t\n  File "b.py", line 12, in run3', Zone.TRACE, ["File", "b", "py", "line", "in", "run3"]),
        ("t\n    at Job.run (/b.js:10:5)", Zone.TRACE, ["at", "Job", "run", "b", "js"]),
    ],
)  # fmt: skip
def test_the_number_of_a_line_is_no_word(text: str, zone: Zone, expected: list[str]) -> None:
    assert tokens(text, zone) == expected
