"""How often a process that holds relations looks for cycles.

Relations are made by the hundred thousand and live as long as their files: tuples and slotted values without
cycles. CPython's collector walks all of them after some thousand new ones, which took half the time of a
repair. Reference counts free them just as well; cycles, which exceptions and parsers leave, are looked for
after so many more new values that it no longer counts. (mypy does the same, for the same reason.)
"""

from __future__ import annotations

import gc

NEW_VALUES = 200_000
YOUNGER_PASSES = 30
"""Before an older generation is walked too."""


def rarely_look_for_cycles() -> None:
    """For the whole process, from here on."""
    gc.set_threshold(NEW_VALUES, YOUNGER_PASSES, YOUNGER_PASSES)
