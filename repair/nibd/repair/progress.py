"""How a repair tells where it stands, and where it may be stopped.

`Reporter` is what the caller gives. A repair calls it between two pieces of work, when everything
done so far is stored; the caller may raise `Interrupted` there and start again later, and nothing
is parsed or embedded twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total` things of a `stage`: `facts` (files), `lexical` (files), `dense` (texts)."""

    stage: str
    done: int
    total: int


class Interrupted(Exception):  # noqa: N818 - not an error: the caller asked for it
    """The caller wants the worker for something else; the work so far is kept."""


Reporter = Callable[[Progress], None]
