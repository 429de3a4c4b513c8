"""What commands print for people, from answers as the protocol has them."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from nibd.daemon.commands._answers import render, render_outline, warnings
from nibd.daemon.commands._daemon import expect
from nibd.daemon.commands._failures import CommandError
from nibd.daemon.commands._output import Style, emit_json, keep_bytes, style_of, visible, visible_line
from nibd.daemon.commands._progress import ProgressBar
from nibd.daemon.commands._status_text import has_failed
from nibd.daemon.commands._status_text import render as render_status
from nibd.daemon.commands.init import _text as init_text
from nibd.daemon.commands.status import significant
from nibd.daemon.commands.verify import _render as render_verify
from nibd.daemon.commands.wait import is_unborn, outcome_text

PLAIN = Style(False)
OLD, NEW = "a" * 40, "b" * 40


def view(**changed: Any) -> dict[str, Any]:
    return {
        "state": "ready",
        "assurance": "exact",
        "commit": OLD,
        "lag": {"commits": 0, "seconds": 0.0},
        "coverage": {"done": 3, "of": 3},
        "reason": None,
        "counts": {"files": 3, "units:L0": 3, "units:L2": 4, "language:go": 1, "skip:binary": 1, "dead": 0},
        "capabilities": {},
    } | changed


def hit(**changed: Any) -> dict[str, Any]:
    return {
        "path": "src/app.py",
        "start_line": 3,
        "end_line": 9,
        "kind": "function",
        "name": "run",
        "score": 12.345678,
        "snippet": "def run():\n    return 1",
        "snippet_line": 3,
        "matches": [{"line": 4, "column": 5, "end_column": 11}],
        "edited": False,
    } | changed


def answer(**changed: Any) -> dict[str, Any]:
    return {
        "snapshot": {"commit": OLD, "tree": "t", "generation": 4},
        "views": {"lexical": view(used=True)},
        "head": {"commit": OLD},
        "hits": [hit()],
    } | changed


def status(**changed: Any) -> dict[str, Any]:
    return {
        "checkout": "c",
        "repository": "app-1",
        "path": "/home/ann/app",
        "head": {"commit": OLD, "tree": "t", "branch": "main"},
        "error": None,
        "snapshot": {"commit": OLD, "tree": "t", "generation": 4, "published_at": 1.0},
        "views": {"lexical": view(), "structural": view(), "dense": view(state="absent", reason="off")},
        "relations": {},
        "files": {"indexed": 3, "total": 5},
        "skipped": {"too_large": 2},
        "broken": {"count": 0, "files": []},
        "notes": [],
        "work": {"running": [], "waiting": []},
        "statistics": {"repairs": 7},
    } | changed


def test_a_fresh_answer_is_a_header_and_its_hits() -> None:
    assert render(answer(), PLAIN) == (
        "commit aaaaaaaaaa; lexical exact\n"
        "\n"
        "src/app.py:3-9 function run  12.35\n"
        "     3  def run():\n"
        "     4      return 1"
    )


def test_matched_words_are_marked_on_a_terminal() -> None:
    assert render(answer(), Style(True)).endswith("\x1b[2m     4\x1b[0m      \x1b[1;31mreturn\x1b[0m 1")


def test_relations_and_a_reranker_that_took_part_are_in_the_header_and_one_that_did_not_is_said() -> None:
    related = view(used=True, relations={"python": view(used=True), "go": view(used=False)})
    told = answer(views={"structural": related}, reranker={"model": "m", "used": True, "reason": None})
    assert (
        render(told, PLAIN)
        .splitlines()[0]
        .endswith("structural exact; python relations exact; ordered anew by m")
    )
    cold = answer(reranker={"model": "m", "used": False, "reason": "warming"})
    assert list(warnings(cold)) == ["WITHOUT the reranker: warming"]


def test_nothing_found_is_said() -> None:
    assert render(answer(hits=[]), PLAIN).splitlines()[-1] == "nothing found"
    assert render_outline(answer(hits=[]), PLAIN).splitlines()[-1] == "nothing found"


def test_a_stale_answer_says_so_loudly_and_by_how_much() -> None:
    behind = view(used=True, lag={"commits": 2, "seconds": 75.0})
    stale = answer(head={"commit": NEW}, views={"lexical": behind})

    assert list(warnings(stale)) == ["STALE: this is aaaaaaaaaa, HEAD is bbbbbbbbbb (2 commits, 75 s behind)"]
    assert "\x1b[1;33m! STALE" in render(stale, Style(True))


def test_a_lag_that_is_unknown_is_still_stale() -> None:
    unknown = answer(head={"commit": None}, views={"lexical": view(used=True, lag=None)})

    assert list(warnings(unknown)) == ["STALE: this is aaaaaaaaaa, HEAD is -"]


def test_why_head_cannot_be_read_is_said() -> None:
    gone = answer(head={"commit": None}, views={"lexical": view(used=True, reason="/home/ann/app is gone")})

    assert list(warnings(gone)) == ["STALE: this is aaaaaaaaaa, HEAD can't be read: /home/ann/app is gone"]


@pytest.mark.parametrize(
    ("views", "said"),
    [
        (
            {
                "lexical": view(
                    used=True, assurance="partial", coverage={"done": 1, "of": 3}, reason="first build"
                )
            },
            "PARTIAL: the lexical view holds 1 of 3: first build",
        ),
        (
            {"lexical": view(used=True), "dense": view(used=False, state="building", reason="warming")},
            "WITHOUT the dense view: warming",
        ),
        (
            {"lexical": view(used=True, state="failed", coverage=None)},
            "PARTIAL: the lexical view is failed",
        ),
    ],
)
def test_what_an_answer_lacks_is_said(views: dict[str, Any], said: str) -> None:
    assert list(warnings(answer(views=views))) == [said]


def test_edited_files_are_named_once_and_marked_at_the_hit() -> None:
    edited = answer(hits=[hit(edited=True), hit(start_line=20, edited=True), hit(path="b.py", edited=None)])

    assert list(warnings(edited)) == ["EDITED in the work tree since: src/app.py"]
    assert render(edited, PLAIN).count("  edited") == 2


def test_long_snippets_are_cut_and_missing_ones_are_left_out() -> None:
    long = "\n".join(f"line {number}" for number in range(40))
    text = render(answer(hits=[hit(snippet=long), hit(snippet=None, score=None, name="", matches=[])]), PLAIN)

    assert "… 28 lines more" in text
    assert text.endswith("src/app.py:3-9 function")


def test_nothing_of_a_repository_can_steer_the_terminal() -> None:
    hostile = hit(path="a\x1b]0;owned\x07.py", name="x\x9b2J", snippet="\x1b[31mred\x7f\n\tok é 漢\n")
    text = render(answer(hits=[hostile]), PLAIN)

    assert not any((ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0 for c in text)
    assert "\\x1b[31mred\\x7f" in text
    assert "\tok é 漢" in text
    assert visible_line("a\nb") == "a\\nb"
    assert visible("plain") == "plain"


def test_an_outline_is_indented_by_what_encloses() -> None:
    hits = [
        hit(kind="file", name="", parent=None, start_line=1, end_line=30),
        hit(kind="class", name="A", parent=0),
        hit(kind="method", name="A.run", parent=1),
        hit(kind="function", name="run", parent=0),
        hit(kind="impl", name="impl Display for A", parent=0),
    ]

    assert render_outline(answer(hits=hits), PLAIN).splitlines()[1:] == [
        "file  1-30",
        "  class A  3-9",
        "    method A.run  3-9",
        "  function run  3-9",
        "  impl Display for A  3-9",
    ]


def test_a_status_shows_each_view_on_a_line() -> None:
    lines = render_status(status(), PLAIN, None).splitlines()

    assert lines[0] == "/home/ann/app on main at aaaaaaaaaa, published aaaaaaaaaa"
    assert lines[2].split() == ["view", "state", "assurance", "commit", "lag", "coverage"]
    assert "lexical holds 3 files, 7 units, 1 language" in lines
    assert "dense: off" in lines
    assert lines[-1] == "files: 3 of 5 indexed; skipped: 2 too large"


def test_a_status_keeps_to_a_line_a_view_on_a_terminal_of_80_columns() -> None:
    counts = {"documents": 1234567, "files": 12345, "segments": 1, "imports": 36470, "language:go": 1}
    many = status(
        path="/home/ann/" + "long/" * 12,
        views={
            "lexical": view(counts=counts),
            "structural": view(counts=counts),
            "dense": view(state="building", assurance="partial", reason="1850 texts are not embedded " * 5),
        },
        notes=["settings " * 20],
    )
    for width in (80, None):
        lines = render_status(many, PLAIN, width).splitlines()
        assert any(line.startswith("structural  ready     exact") for line in lines)
        assert max(map(len, lines)) <= 80
        assert "1 segment," in " ".join(lines)


@pytest.mark.parametrize("state", ["building", "absent", "failed"])
def test_of_what_is_not_there_it_is_not_said_that_nothing_is_to_be_done(state: str) -> None:
    begun = view(state=state, assurance=None, coverage={"done": 0, "of": 0}, counts={}, agreement=None)
    text = render_status(status(relations={"python": begun | {"repairs": None}}), PLAIN, None)
    assert [line.split()[-1] for line in text.splitlines() if line.startswith("relations python")] == ["-"]


def test_a_checkout_that_is_gone_is_not_said_to_be_detached() -> None:
    shown = status(head={"commit": None, "branch": None}, snapshot=None, error="/home/ann/app is not there")
    text = render_status(shown, PLAIN, None)
    assert text.splitlines()[0].endswith(" HEAD can't be read, nothing published yet")
    assert "error: /home/ann/app is not there" in text


def test_init_that_does_not_wait_claims_no_build_of_what_was_there() -> None:
    added = {"path": "/home/ann/shop", "added": True}
    assert init_text(added, None) == "/home/ann/shop registered; its views are being built"
    again = init_text(added | {"added": False}, None)
    assert again == "/home/ann/shop was registered already; 'nibd status' shows what there is of its views"


def test_a_status_fits_a_narrow_terminal() -> None:
    text = render_status(status(), PLAIN, 40)

    table = text.split("\n\n")[1].splitlines()
    assert table[0] == "lexical"
    assert all(len(line) <= 40 for line in table)
    assert "  coverage 3 of 3" in table


def test_a_status_shows_work_trouble_and_notes() -> None:
    running = {"repository": "app-1", "kind": "repair", "commit": NEW}
    progress = {"stage": "facts", "done": 30, "total": 92}
    text = render_status(
        status(
            error="disk full",
            notes=[".nibd.toml asks for more"],
            work={
                "running": [
                    running | {"progress": progress},
                    {"repository": None, "kind": "embed", "commit": None, "progress": None},
                ],
                "waiting": [running | {"repository": "lib-2"}],
            },
        ),
        PLAIN,
        None,
    )

    assert "running: repair bbbbbbbbbb: facts 30 of 92\n" in text
    assert "running: embed\n" in text
    assert "waiting: lib-2 repair bbbbbbbbbb\n" in text
    assert "error: disk full\n" in text
    assert text.endswith("note: .nibd.toml asks for more")


def test_a_status_before_the_first_commit_or_snapshot_can_be_shown() -> None:
    empty = view(state="building", assurance=None, commit=None, lag=None, coverage=None, counts=None)
    unborn = status(
        head={"commit": None, "tree": None, "branch": "main"},
        snapshot=None,
        views={"lexical": empty},
        files=None,
        skipped=None,
    )
    text = render_status(unborn, PLAIN, None)

    assert "on main without a commit, nothing published yet" in text
    assert "files: not counted yet" in text


def test_failed_views_and_relations_and_an_error_are_trouble_and_absent_ones_are_not() -> None:
    assert not has_failed(status())
    assert has_failed(status(error="HEAD can't be read"))
    assert has_failed(status(views={"lexical": view(state="failed", reason="crashed")}))
    for state, is_trouble in (("failed", True), ("absent", False), ("building", False)):
        assert has_failed(status(relations={"python": view(state=state)})) is is_trouble


def test_the_passing_of_time_is_no_change() -> None:
    before, after = status(), status(statistics={"repairs": 8})
    after["views"]["lexical"]["lag"]["seconds"] = 12.5

    assert significant(before) == significant(after)
    assert after["statistics"], "the document itself is left as it was"
    after["views"]["lexical"]["lag"]["commits"] = 1
    assert significant(before) != significant(after)


def test_waiting_says_how_it_ended() -> None:
    late = status(views={"lexical": view(reason="being indexed"), "dense": view(reason="being indexed")})

    assert outcome_text({"published": True, "status": status()}) == "published aaaaaaaaaa"
    assert outcome_text({"published": False, "status": late}) == "not published aaaaaaaaaa: being indexed"
    unborn = {"published": False, "status": status(head={"commit": None, "tree": None, "branch": "main"})}
    assert is_unborn(unborn)
    assert outcome_text(unborn) == "not published: nothing is committed yet, the first commit will be"


def test_waiting_for_an_assurance_says_what_relations_have_instead() -> None:
    python = view(state="ready", assurance="repaired", counts={"files": 83, "verified": 40})
    go = view(state="absent", assurance=None, counts={}, reason="gopls is not installed")
    result = {"published": False, "status": status(relations={"python": python, "go": go})}

    assert outcome_text(result, ["relations"], "verified") == (
        "published aaaaaaaaaa, but relations are not verified\n"
        "  python relations are repaired (40 of 83 files verified)\n"
        "  go relations are absent: gopls is not installed"
    )
    assert outcome_text(result, ["relations"]).startswith(
        "published aaaaaaaaaa, but relations are not there\n"
    )
    behind = {"published": False, "status": status(head={"commit": NEW, "tree": "t", "branch": "main"})}
    assert outcome_text(behind, ["relations"], "verified") == "not published bbbbbbbbbb"


def test_waiting_says_each_reason_once_and_only_of_the_views_asked_for() -> None:
    failed = view(reason="the repair of aaaaaaaaaa failed: disk full")
    views = {"lexical": failed, "structural": failed, "dense": view(state="absent", reason="switched off")}
    result = {"published": False, "status": status(error="disk full", views=views)}

    assert outcome_text(result) == "not published aaaaaaaaaa: disk full"
    assert outcome_text(result, ["dense"]) == "not published aaaaaaaaaa: disk full\n  switched off"
    long = {"published": False, "status": status(error="x" * 5000, views=views)}
    assert max(map(len, outcome_text(long).splitlines())) <= 230


def test_progress_without_a_terminal_is_a_line_a_stage_and_then_one_each_five_seconds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now = [100.0]
    with ProgressBar(lambda: now[0]) as bar:
        for second in range(13):
            now[0] = 100.0 + second
            bar.notified("progress", {"stage": "facts", "done": second, "total": 40})
        bar.notified("progress", {"stage": "dense", "done": 0, "total": None})
        for second in range(20, 60):  # nothing moves
            now[0] = 100.0 + second
            bar.notified("progress", {"stage": "relations", "done": 0, "total": 0})
            bar.notified("progress", {"stage": "facts", "done": 10, "total": 40})

    assert capsys.readouterr().err.splitlines() == [
        "facts: 0 of 40", "facts: 5 of 40", "facts: 10 of 40", "dense", "relations",
    ]  # fmt: skip


def test_verify_names_the_first_differences_and_counts_the_rest() -> None:
    differs = {"equal": False, "compared": {"files": 9}, "differences": ["a.py: 3 units"], "count": 5}
    result = {
        "equal": False,
        "commit": OLD,
        "generation": 4,
        "views": {"lexical": differs, "structural": {"equal": True, "compared": {}, "differences": []}},
        "relations": None,
    }

    assert list(render_verify(result, PLAIN)) == [
        "DIFFERENT: commit aaaaaaaaaa, generation 4",
        "lexical: DIFFERENT; compared 9 files",
        "  a.py: 3 units",
        "  … 4 more",
        "structural: equal; compared nothing",
    ]


def test_verify_names_sites_and_claims_nothing_of_relations_that_could_not_be_compared() -> None:
    site: dict[str, Any] = {"path": "a.py", "line": 3, "name": "run", "kind": "other"}
    site |= {"published": ["b.py run@0"], "fresh": []}
    whole = {"path": "c.py", "line": None, "name": "", "kind": "file", "published": None, "fresh": ["there"]}
    nothing: dict[str, Any] = {"differences": [], "count": 0}
    differs = {"equal": False, "compared": {"sites": 9}, "differences": [site, whole], "count": 2}
    varies = {"equal": True, "compared": {"sites": 4}, **nothing}
    result = {"equal": False, "commit": OLD, "generation": 4, "views": {}}
    families = {
        "go": {**varies, "varying": {"differences": [site], "count": 1}},
        "python": {**differs, "varying": nothing},
        "rust": {"equal": None, "reason": "they are still being made", **nothing, "varying": nothing},
    }

    assert list(render_verify(result | {"relations": families}, PLAIN)) == [
        "DIFFERENT: commit aaaaaaaaaa, generation 4",
        "relations go: equal; compared 4 sites",
        "relations go: two fresh servers differ in 1 site; left out",
        "  a.py:3 run (other): published b.py run@0; a fresh server nothing",
        "relations python: DIFFERENT; compared 9 sites",
        "  a.py:3 run (other): published b.py run@0; a fresh server nothing",
        "  c.py (file): published missing; a fresh server there",
        "relations rust: not compared: they are still being made",
    ]
    del families["python"]
    assert next(render_verify(result | {"relations": families}, PLAIN)) == (
        "NOT COMPARED IN FULL: commit aaaaaaaaaa, generation 4"
    )


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert style_of(Terminal())("red", "x") == "\x1b[31mx\x1b[0m"
    assert style_of(io.StringIO())("red", "x") == "x"
    monkeypatch.setenv("NO_COLOR", "1")
    assert style_of(Terminal())("red", "x") == "x"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert style_of(Terminal())("red", "x") == "x"


def test_any_path_can_be_printed_whatever_the_encoding() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    keep_bytes(stream)
    stream.write("caf\udce9 é 漢\n")
    stream.flush()

    assert raw.getvalue() == b"caf\xe9 \\xe9 \\u6f22\n"


def test_json_carries_paths_that_are_not_utf8(capsys: pytest.CaptureFixture[str]) -> None:
    emit_json({"path": "caf\udce9"})
    assert json.loads(capsys.readouterr().out) == {"path": "caf\udce9"}


def test_an_answer_that_is_no_object_is_a_defect() -> None:
    with pytest.raises(CommandError, match="instead of an object"):
        expect([1])
