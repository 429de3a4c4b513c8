"""How far static answers equalled live ones in a repository: what was sampled at one tree, by operation.

An *agreement* is part of the record of a family's relations. It says at which tree it was measured, and is
handed on to the records of later trees until it is measured anew.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

from nibd.stores.types import CommitId, TreeId


@dataclass(frozen=True, slots=True)
class Rate:
    """Of one operation in one language: of `asked` places both answers were equal for `equal`.

    Of the others the static answer lacked some of the live one's places (`fewer`), had more (`more`), or
    both (`other`). `unanswered` places are not among them: the server said nothing about them in time.
    """

    language: str
    operation: str
    asked: int
    equal: int
    fewer: int = 0
    more: int = 0
    other: int = 0
    unanswered: int = 0


@dataclass(frozen=True, slots=True)
class Agreement:
    """Measured at `tree`, which a checkout showed at `commit`."""

    tree: TreeId
    commit: CommitId
    rates: tuple[Rate, ...]


def encode_agreement(agreement: Agreement) -> dict[str, Any]:
    return {
        "tree": agreement.tree,
        "commit": agreement.commit,
        "rates": [list(astuple(rate)) for rate in agreement.rates],
    }


def decode_agreement(data: dict[str, Any]) -> Agreement:
    return Agreement(
        TreeId(data["tree"]), CommitId(data["commit"]), tuple(Rate(*rate) for rate in data["rates"])
    )
