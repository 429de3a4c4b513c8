"""How deep brackets are nested in a text, told in time linear in it and without a grammar.

Some grammars take time and memory that grow with the square of the depth, so it is bounded before they
run. Brackets in strings and comments count too. A closing one closes everything back to its partner, and
nothing when it has none: so what a string leaves open is over with the call or the block around it.
"""

from __future__ import annotations

_PAIRS = (b"()", b"[]", b"{}")
_OPENING = b"".join(pair[:1] for pair in _PAIRS)
_PARTNER = {pair[1]: pair[0] for pair in _PAIRS}
_OTHERS = bytes(set(range(256)) - set(b"".join(_PAIRS)))
_ROUNDS = 20
"""Ordinary source is not nested deeper, so that nearly all of it is gone after them."""


def is_nested_deeper(content: bytes, most: int) -> bool:
    """Tell whether more than `most` brackets are open somewhere in a text."""
    brackets = rest = content.translate(None, delete=_OTHERS)
    for rounds in range(_ROUNDS):
        # A round takes at most one level off for each kind of pair.
        if _openings(rest) + rounds * len(_PAIRS) <= most:
            return False
        for pair in _PAIRS:
            rest = rest.replace(pair, b"")
    return _depth(brackets, most) > most


def _openings(brackets: bytes) -> int:
    return sum(brackets.count(opening) for opening in _OPENING)


def _depth(brackets: bytes, enough: int) -> int:
    """The greatest number of open brackets, or some number above `enough`."""
    opened: list[int] = []
    waiting = dict.fromkeys(_OPENING, 0)
    deepest = 0
    for bracket in brackets:
        partner = _PARTNER.get(bracket)
        if partner is None:
            opened.append(bracket)
            waiting[bracket] += 1
            deepest = max(deepest, len(opened))
            if deepest > enough:
                break
        elif waiting[partner]:
            while True:
                last = opened.pop()
                waiting[last] -= 1
                if last == partner:
                    break
    return deepest
