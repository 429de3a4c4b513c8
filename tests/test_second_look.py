"""What a search does when its first hits can't be scored anew."""

from __future__ import annotations

from typing import Any, cast

import pytest

from nibd.daemon import searching
from nibd.ipc.children import ChildDied
from nibd.query.hits import Hit
from nibd.query.search import Found, Question, Trace
from nibd.stores.types import BlobId, RepoPath

HITS = [
    Hit(RepoPath(b"a.py"), line, line, "function", f"f{line}", None, "python", BlobId("0" * 40), 1.0)
    for line in range(1, 8)
]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(11, "no process can be started"), "[Errno 11] no process can be started"),
        (TimeoutError(), "it took too long"),
        (ChildDied(1, "out of memory"), "out of memory"),
    ],
)
def test_hits_keep_the_order_of_their_plan_and_the_answer_says_why(
    error: Exception, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def score(query: str, texts: list[str]) -> list[float]:
        raise error

    monkeypatch.setattr(searching, "search", lambda views, question: Found(HITS, Trace()))
    second = searching.SecondLook("model", None, lambda hit: "text", score)
    found = second.found(cast(Any, None), Question("close", cast(Any, None), None, 3, 1))
    assert [hit.start_line for hit in found.hits] == [2, 3, 4]
    told = second.told()
    assert (told["used"], told["hits"]) == (False, 0)
    assert reason in str(told["reason"])
