"""What failed of a checkout's relations, and for how long it is said."""

from __future__ import annotations

import pytest

from nibd.daemon.relations.failures import Failures
from nibd.stores.types import CheckoutId, TreeId

HERE, THERE = CheckoutId("c"), CheckoutId("d")
TREE, OTHER = TreeId("1"), TreeId("2")


def test_a_failure_is_of_its_checkout_and_tree() -> None:
    failures = Failures()
    failures.failed(HERE, "relate", TREE, "disk full")
    assert [failures.of(HERE, TREE), failures.of(HERE, OTHER), failures.of(THERE, TREE)] == [
        "disk full",
        None,
        None,
    ]
    failures.forget(HERE)
    assert failures.of(HERE, TREE) is None


@pytest.mark.parametrize(
    ("failed", "done", "is_over"),
    [
        ("relate", "relate", True),
        ("verify", "verify", True),
        ("verify", "relate", True),
        ("verify", "look", False),
        ("relate", "agree", False),
        ("relate", "audit", False),
        ("look", "look", True),
        ("look", "relate", True),
        ("agree", "look", True),
    ],
)
def test_only_work_that_makes_relations_ends_a_failure_to_make_them(
    failed: str, done: str, is_over: bool
) -> None:
    failures = Failures()
    failures.failed(HERE, failed, TREE, "disk full")
    failures.succeeded(HERE, done)
    assert (failures.of(HERE, TREE) is None) is is_over
