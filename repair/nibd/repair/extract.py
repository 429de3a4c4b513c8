"""Facts of one blob: what follows from its bytes and its language alone.

Steps: decode; refuse what no person reads; find units (by grammar, section or window); count the
terms of each unit's own text; name the text that is embedded for each.

In code the own texts partition the file, so its terms are their sum. Windows overlap, so there the
file's terms are counted once over, and the file's own text is empty.

A pure function: it reads no clock, path or setting, and the same bytes give the same facts in every
process. The one exception is `Skip.PARSE_TIMEOUT`, the verdict of the net under the parser's bounds: it
depends on the machine, and is not to be kept as a fact.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from importlib.metadata import version

from nibd.repair.languages import CODE_LANGUAGES, MARKDOWN
from nibd.repair.syntax import Syntax, read_syntax, spec_of
from nibd.repair.text import decode, is_minified, line_count
from nibd.repair.windows import section_units, window_units
from nibd.stores.fact_terms import PACKED_VERSION
from nibd.stores.terms import TERMS_VERSION, count_terms
from nibd.stores.types import Facts, Skip, TextId, Unit, UnitTerms

EXTRACTOR_VERSION = "+".join(
    (
        "units-5",
        f"grammars-{version('tree-sitter-language-pack')}",
        f"tree-sitter-{version('tree-sitter')}",
        f"terms-{TERMS_VERSION}",
        f"packed-{PACKED_VERSION}",
    )
)
"""Facts are kept under it. Raise the first part with any change of what this package finds."""

EMBEDDED_CHARACTERS = 2_000
_WORD = re.compile(r"\w")


def extract(data: bytes, language: str) -> Facts | Skip:
    """Read a blob as `language` (see `language_of`); a `Skip` says why it has no facts."""
    text = decode(data)
    if isinstance(text, Skip):
        return text
    content = text.content
    if is_minified(content, code=language in CODE_LANGUAGES):
        return Skip.MINIFIED
    syntax = _syntax(content, language)
    if isinstance(syntax, Skip):
        return syntax
    units = syntax.units
    ranges = own_ranges(units)
    terms = tuple(UnitTerms(count_terms(own_text(content, own))) for own in ranges)
    return Facts(
        units=units,
        imports=syntax.imports,
        terms=terms,
        file_terms=_sum(terms) if spec_of(language) else UnitTerms(count_terms(content.decode())),
        text_ids=tuple(
            None if embedded is None else text_id(embedded)
            for embedded in (_embedded(content, unit, own) for unit, own in zip(units, ranges, strict=True))
        ),
        lines=line_count(content),
        broken_line=syntax.broken_line,
    )


def embedding_text(content: bytes, units: Sequence[Unit], ordinal: int) -> str | None:
    """The text that is embedded for a unit of decoded text; `None` when its own text has no word.

    It depends on the unit's qualified name and own text only: not on path, line or neighbours.
    """
    return _embedded(content, units[ordinal], own_ranges(units)[ordinal])


def embedding_texts(content: bytes, units: Sequence[Unit]) -> list[str | None]:
    """`embedding_text` of every unit of a file."""
    return [_embedded(content, unit, own) for unit, own in zip(units, own_ranges(units), strict=True)]


def text_id(text: str) -> TextId:
    """Name a text that is embedded."""
    return TextId(blake2b(text.encode("utf-8"), digest_size=16).digest())


def own_ranges(units: Sequence[Unit]) -> list[list[tuple[int, int]]]:
    """For each unit, the byte ranges of its own text: its range without those of nested units."""
    ranges: list[list[tuple[int, int]]] = [[] for _ in units]
    reached = [unit.start_byte for unit in units]
    for unit in units:
        if unit.parent is not None:
            if unit.start_byte > reached[unit.parent]:
                ranges[unit.parent].append((reached[unit.parent], unit.start_byte))
            reached[unit.parent] = max(reached[unit.parent], unit.end_byte)
    for ordinal, unit in enumerate(units):
        if unit.end_byte > reached[ordinal]:
            ranges[ordinal].append((reached[ordinal], unit.end_byte))
    return ranges


def own_text(content: bytes, own: Sequence[tuple[int, int]]) -> str:
    """A unit's own text; a line end stands for each nested unit, so that no words run together."""
    return "\n".join(content[start:end].decode("utf-8", "replace") for start, end in own)


def _syntax(content: bytes, language: str) -> Syntax | Skip:
    spec = spec_of(language)
    if spec is not None:
        return read_syntax(content, spec)
    return Syntax(section_units(content) if language == MARKDOWN else window_units(content), ())


def _sum(terms: Sequence[UnitTerms]) -> UnitTerms:
    total: Counter[str] = Counter()
    for each in terms:
        total.update(each.counts)
    return UnitTerms(dict(total))


def _embedded(content: bytes, unit: Unit, own: Sequence[tuple[int, int]]) -> str | None:
    pieces: list[str] = []
    room = EMBEDDED_CHARACTERS
    for start, end in own:
        # a character has up to four bytes, and what is cut off is past the limit anyway
        piece = content[start : min(end, start + 4 * EMBEDDED_CHARACTERS)].decode("utf-8", "ignore").strip()
        if piece and room > 0:
            pieces.append(piece[:room])
            room -= len(piece) + 1
    text = "\n".join(pieces)
    if not _WORD.search(text):
        return None
    return f"{unit.qualified}\n{text}" if unit.qualified else text
