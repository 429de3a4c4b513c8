"""What each match of a part of a pattern holds, begins with and ends with: the algebra behind its needs.

A part is *exact* while the strings that it matches are few and all known. When it stops being so, the
trigrams of what is known go into its need, and of the strings only the outermost two bytes are held, which is
as much as trigrams across two parts can take. (Cox, Regular Expression Matching with a Trigram Index.)

All strings are folded bytes (`nibd.stores.trigrams`). Everything here may know less than is true, never more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product

from nibd.stores.trigrams import ANYTHING, AllOf, AnyOf, Need, literal_grams

MAX_STRINGS = 32
MAX_STRING_BYTES = 256
MAX_BRANCHES = 512
MANY_BRANCHES = 32
FEW_GRAMS = 3
MAX_COPIES = 4
"""Of what is repeated, so many copies are looked at."""
EDGE = 2

Strings = frozenset[bytes]
EMPTY: Strings = frozenset({b""})


@dataclass(frozen=True, slots=True)
class Part:
    """A match holds what `need` says; it begins with one of `prefixes` and ends with one of `suffixes`.

    An exact part matches just the strings of `prefixes`, and its need follows from them.
    """

    prefixes: Strings
    suffixes: Strings
    need: Need = ANYTHING
    is_exact: bool = False


def exact(strings: Iterable[bytes]) -> Part:
    known = frozenset(strings)
    part = Part(known, known, ANYTHING, is_exact=True)
    if len(known) > MAX_STRINGS or any(len(string) > MAX_STRING_BYTES for string in known):
        return _inexact(part)
    return part


NOTHING_READ = exact([b""])
"""Matches where it stands, such as an anchor."""
UNKNOWN = Part(EMPTY, EMPTY)
"""Matches nobody knows what."""


def following(first: Part, second: Part) -> Part:
    if first.is_exact and second.is_exact and len(first.prefixes) * len(second.prefixes) <= MAX_STRINGS:
        return exact(_joined(first.prefixes, second.prefixes))
    left, right = _inexact(first), _inexact(second)
    across = _one_of(_joined(left.suffixes, right.prefixes))
    return _edged(
        _joined(first.prefixes, right.prefixes) if first.is_exact else left.prefixes,
        _joined(left.suffixes, second.suffixes) if second.is_exact else right.suffixes,
        all_of([left.need, right.need, across]),
    )


def either(parts: Iterable[Part]) -> Part:
    found = list(parts)
    strings = frozenset[bytes]().union(*(part.prefixes for part in found))
    if all(part.is_exact for part in found) and len(strings) <= MAX_STRINGS:
        return exact(strings)
    settled = [_inexact(part) for part in found]
    return _edged(
        frozenset[bytes]().union(*(part.prefixes for part in settled)),
        frozenset[bytes]().union(*(part.suffixes for part in settled)),
        any_of(part.need for part in settled),
    )


def repeated(part: Part, least: int, most: int | None) -> Part:
    """`most` is `None` for any number."""
    if most == 0:
        return NOTHING_READ
    if least == 0:
        return either([part, NOTHING_READ]) if most == 1 else UNKNOWN
    copies = NOTHING_READ
    for _ in range(min(least, MAX_COPIES)):
        copies = following(copies, part)
    if least == most and least <= MAX_COPIES:
        return copies
    once = _inexact(part)
    return Part(_inexact(copies).prefixes, once.suffixes, _inexact(copies).need)


def need_of(part: Part) -> Need:
    return _inexact(part).need


def all_of(needs: Iterable[Need]) -> Need:
    grams: frozenset[int] = frozenset()
    rest: list[Need] = []
    for need in needs:
        if isinstance(need, AllOf):
            grams |= need.grams
            rest += [each for each in need.needs if each not in rest]
        elif need not in rest:
            rest.append(need)
    return rest[0] if not grams and len(rest) == 1 else AllOf(grams, tuple(rest))


def any_of(needs: Iterable[Need]) -> Need:
    branches: dict[Need, None] = {}
    for need in needs:
        branches.update(dict.fromkeys(need.needs if isinstance(need, AnyOf) else [need]))
    if ANYTHING in branches or len(branches) > MAX_BRANCHES:
        return ANYTHING
    if len(branches) == 1:
        return next(iter(branches))
    return AnyOf(tuple(map(_lighter, branches) if len(branches) > MANY_BRANCHES else branches))


def _lighter(need: Need) -> Need:
    """A need that asks for less: so that hundreds of branches take no longer than dozens."""
    if isinstance(need, AllOf) and len(need.grams) > FEW_GRAMS:
        return AllOf(frozenset(sorted(need.grams)[:: len(need.grams) // FEW_GRAMS][:FEW_GRAMS]))
    return need


def _inexact(part: Part) -> Part:
    return _edged(part.prefixes, part.suffixes, _one_of(part.prefixes)) if part.is_exact else part


def _edged(prefixes: Strings, suffixes: Strings, need: Need) -> Part:
    return Part(
        _shortened(prefixes, lambda string, size: string[:size]),
        _shortened(suffixes, lambda string, size: string[max(0, len(string) - size) :]),
        all_of([need, _one_of(prefixes), _one_of(suffixes)]),
    )


def _shortened(strings: Strings, cut: Callable[[bytes, int], bytes]) -> Strings:
    for size in range(EDGE, 0, -1):
        short = frozenset(cut(string, size) for string in strings)
        if len(short) <= MAX_STRINGS:
            return short
    return EMPTY


def _one_of(strings: Strings) -> Need:
    """That a text holds one of them."""
    if any(len(string) < 3 for string in strings):
        return ANYTHING
    return any_of(AllOf(literal_grams(string)) for string in strings)


def _joined(first: Strings, second: Strings) -> Strings:
    return frozenset(one + other for one, other in product(first, second))
