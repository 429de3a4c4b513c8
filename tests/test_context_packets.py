"""Eager packets: whole units, each text once, never more tokens than asked for."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nibd.query.context.packet import LeftOutReason, Packet, Piece, eager, lines_of
from nibd.query.context.tokens import Estimate, Tokenizer, TokenizerError
from nibd.query.hits import Hit
from nibd.stores.types import BlobId, CommitId, Level, RepoPath

GOLDENS = Path(__file__).parent / "goldens" / "context"
COMMIT = CommitId("c0ffee" + "0" * 34)
ESTIMATE = Estimate("a test")


class Words:
    """Counts words and line ends, and for each text some more: a whole counts less than its parts do."""

    name = "words"
    exact = True

    def __init__(self, per_text: int = 0) -> None:
        self._per_text = per_text

    def count(self, text: str) -> int:
        return len(text.split()) + text.count("\n") + self._per_text


class Pairs:
    """A whole counts more than its parts do together."""

    name = "pairs"
    exact = True

    def count(self, text: str) -> int:
        return len(text) + len(text) ** 2 // 2000


def hit(path: str, first: int, last: int, name: str = "", kind: str = "function", score: float = 1.0) -> Hit:
    blob = BlobId(hashlib.sha1(path.encode()).hexdigest())
    return Hit(RepoPath(path.encode()), first, last, kind, name, Level.CALLABLE, "python", blob, score)


def piece(path: str, first: int, text: str, name: str = "f") -> Piece:
    return Piece(hit(path, first, first + text.count("\n"), name), text)


def addresses(packet: Packet) -> list[tuple[str, int]]:
    return [(unit.hit.path.decode(), unit.hit.start_line) for unit in packet.units]


def reasons(packet: Packet) -> list[str]:
    return [each.reason.value for each in packet.left_out]


def test_a_packet_is_as_recorded(request: pytest.FixtureRequest) -> None:
    packet = eager(
        [
            piece("src/a.py", 10, "def alpha():\n    return 1", "alpha"),
            piece("docs/odd\nname.md", 1, "Text with ``` in it\n````\nand more"),
            piece("src/b.py", 1, "def alpha():\n    return 1", "alpha"),
            Piece(hit("src/a.py", 11, 11, "inner"), "    return 1"),
        ],
        COMMIT,
        1000,
        ESTIMATE,
    )
    golden = GOLDENS / "eager.txt"
    if request.config.getoption("--update-goldens"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(packet.text)

    assert packet.text == golden.read_text()
    assert packet.tokens == ESTIMATE.count(packet.text)
    assert reasons(packet) == ["inside"]


def test_units_keep_the_order_of_their_hits_and_say_what_they_took() -> None:
    pieces = [piece("z.py", 1, "def z(): pass"), piece("a.py", 5, "def a(): pass")]

    packet = eager(pieces, COMMIT, 1000, Words())

    assert addresses(packet) == [("z.py", 1), ("a.py", 5)]
    head = Words().count("Source units of commit c0ffee0000:\n")
    assert packet.tokens == head + sum(unit.tokens for unit in packet.units)


def test_a_unit_inside_another_or_sharing_lines_with_it_does_not_come_again() -> None:
    whole = piece("a.py", 1, "1\n2\n3\n4\n5")
    inside, across, after = piece("a.py", 2, "2\n3"), piece("a.py", 5, "5\n6"), piece("a.py", 6, "6\n7")

    packet = eager([whole, inside, across, after, whole], COMMIT, 1000, Words())

    assert addresses(packet) == [("a.py", 1), ("a.py", 6)]
    assert reasons(packet) == ["inside", "overlaps", "inside"]


def test_a_better_hit_inside_keeps_the_larger_one_out() -> None:
    packet = eager([piece("a.py", 2, "2\n3"), piece("a.py", 1, "1\n2\n3\n4")], COMMIT, 1000, Words())

    assert addresses(packet) == [("a.py", 2)]
    assert reasons(packet) == ["overlaps"]


def test_equal_texts_come_once_with_all_their_addresses() -> None:
    copies = [piece(f"{letter}.py", 1, "def same(): pass", "same") for letter in "abcdef"]

    packet = eager(copies, COMMIT, 1000, Words())

    (unit,) = packet.units
    assert [each.path for each in unit.also] == [b"b.py", b"c.py", b"d.py", b"e.py", b"f.py"]
    assert "the same text: b.py:1-1, c.py:1-1, d.py:1-1 and 2 more" in packet.text
    assert packet.text.count("def same") == 1
    assert packet.left_out == ()


def test_what_lies_in_a_copy_does_not_come_again() -> None:
    copies = [piece("a.py", 1, "x\ny\nz"), piece("b.py", 1, "x\ny\nz"), piece("b.py", 2, "y")]

    assert reasons(eager(copies, COMMIT, 1000, Words())) == ["inside"]


def test_a_unit_larger_than_the_budget_is_left_out_and_said_and_smaller_ones_still_come() -> None:
    large = piece("a.py", 1, "word " * 500)

    packet = eager([large, piece("b.py", 1, "small")], COMMIT, 60, Words())

    assert addresses(packet) == [("b.py", 1)]
    (left,) = packet.left_out
    assert left.reason is LeftOutReason.LARGER_THAN_BUDGET
    assert left.tokens is not None
    assert left.tokens > 500
    assert "word" not in packet.text


def test_what_does_not_fit_any_more_is_said_with_what_it_takes() -> None:
    packet = eager([piece("a.py", 1, "word " * 20), piece("b.py", 1, "term " * 20)], COMMIT, 60, Words())

    assert addresses(packet) == [("a.py", 1)]
    assert reasons(packet) == ["no_room"]


def test_what_lies_in_a_unit_that_did_not_fit_may_come() -> None:
    packet = eager([piece("a.py", 1, "word\n" * 100), piece("a.py", 3, "word")], COMMIT, 60, Words())

    assert addresses(packet) == [("a.py", 3)]


def test_a_text_that_cannot_be_had_is_said() -> None:
    packet = eager([Piece(hit("a.py", 1, 2), None), piece("b.py", 1, " \n ")], COMMIT, 60, Words())

    assert reasons(packet) == ["no_text", "no_text"]
    assert packet.text == ""
    assert packet.tokens == 0


def test_a_budget_that_holds_nothing_gives_nothing() -> None:
    packet = eager([piece("a.py", 1, "x")], COMMIT, 1, Words())

    assert (packet.text, packet.tokens, packet.units) == ("", 0, ())


class Counted(Words):
    """Notes how much it was asked to count."""

    def __init__(self) -> None:
        super().__init__()
        self.characters = 0

    def count(self, text: str) -> int:
        self.characters += len(text)
        return super().count(text)


def test_a_text_far_larger_than_the_budget_is_not_counted_whole() -> None:
    counter = Counted()

    packet = eager([piece("a.py", 1, "word " * 1_000_000)], COMMIT, 60, counter)

    assert [(each.reason, each.tokens) for each in packet.left_out] == [
        (LeftOutReason.LARGER_THAN_BUDGET, None)
    ]
    assert counter.characters < 100_000


def test_a_long_text_that_fits_comes_whole() -> None:
    text = "word " * 20_000 + "end"

    packet = eager([piece("a.py", 1, text)], COMMIT, 20_100, Words())

    assert text in packet.text
    assert packet.tokens <= 20_100


PIECES = st.lists(
    st.builds(
        piece,
        st.sampled_from(["a.py", "b/c.py", "d`e.py"]),
        st.integers(1, 12),
        st.text("ab `\n", max_size=60),
    ),
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(PIECES, st.integers(1, 400), st.sampled_from([ESTIMATE, Words(), Words(7), Pairs()]))
def test_never_more_than_the_budget_never_a_line_twice_and_always_the_same(
    pieces: list[Piece], budget: int, counter: Estimate | Words | Pairs
) -> None:
    packet = eager(pieces, COMMIT, budget, counter)

    assert packet == eager(pieces, COMMIT, budget, counter)
    assert packet.tokens <= budget
    assert packet.tokens == (counter.count(packet.text) if packet.units else 0)
    texts = [unit.text for unit in packet.units]
    assert len(texts) == len(set(texts))
    places = [each for unit in packet.units for each in (unit.hit, *unit.also)]
    lines = [(each.path, n) for each in places for n in range(each.start_line, each.end_line + 1)]
    assert len(lines) == len(set(lines))
    for unit in packet.units:
        assert unit.text in packet.text
        assert Piece(unit.hit, unit.text) in pieces
    assert len(places) + len(packet.left_out) == len(pieces)


@pytest.mark.parametrize(
    ("content", "first", "last", "text"),
    [
        ("a\nb\nc\n", 2, 3, "b\nc"),
        ("a\r\nb\r\n", 1, 1, "a"),
        ("a\n\n\n", 1, 3, "a"),
        ("a\nb", 2, 9, "b"),
        ("a", 3, 4, ""),
    ],
)
def test_the_lines_of_a_text(content: str, first: int, last: int, text: str) -> None:
    assert lines_of(content, first, last) == text


# Tokens


def test_an_estimate_says_that_it_is_one() -> None:
    assert not ESTIMATE.exact
    assert ESTIMATE.count("") == 0
    assert ESTIMATE.count("abcd") == 2
    assert ESTIMATE.count("é\ud800") == 2


def test_a_tokenizer_counts_what_its_file_says_without_marks_cuts_or_filling(tmp_path: Path) -> None:
    file = made_tokenizer(tmp_path / "tokenizer.json")
    counter = Tokenizer.load(file, "mine")

    assert (counter.name, counter.exact) == ("mine", True)
    assert counter.count("") == 0
    assert counter.count("alpha beta alpha") == 3
    assert counter.count("alpha " * 50) == 50
    assert counter.count("\ud800") == 1


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff", b'{"model": 1}'])
def test_a_file_that_is_no_tokenizer_is_an_error_that_names_it(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_bytes(data)

    with pytest.raises(TokenizerError, match=r"tokenizer\.json is no tokenizer\.json that can be used"):
        Tokenizer.load(file, "mine")


def test_a_file_that_is_not_there_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match=r"none\.json can't be read: No such file"):
        Tokenizer.load(tmp_path / "none.json", "mine")


def made_tokenizer(file: Path) -> Path:
    """Words of a small vocabulary; it cuts at 4 and fills up to 4, and puts marks around."""
    # Heavy, and only for some tests.
    from tokenizers import Tokenizer as Library  # noqa: PLC0415
    from tokenizers import models, pre_tokenizers, processors  # noqa: PLC0415

    made = Library(models.WordLevel({"[U]": 0, "[M]": 1, "alpha": 2, "beta": 3}, unk_token="[U]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(single="[M] $A [M]", special_tokens=[("[M]", 1)])
    made.enable_truncation(4)
    made.enable_padding(length=4, pad_token="[U]")
    made.save(str(file))
    return file
