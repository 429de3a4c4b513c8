"""What a query's words become: `ranking.groups`."""

from __future__ import annotations

import numpy as np

from nibd.query.ranking.groups import ALL, Group, packed


def test_a_term_of_two_groups_counts_once_for_the_less_important_one() -> None:
    """The stem of `parameterized` is how `parameter` is spelt."""
    longer = Group("parameter", ("parameter",), 4.0, (3.0, 0.0, 3.0, 3.0))
    shorter = Group("paramet", ("paramet", "parameter"), 1.0, (2.0, 0.0, 2.0, 2.0))
    terms = packed([longer, shorter], 2)
    assert sorted(terms.by_term) == ["paramet", "parameter"]
    assert len(np.unique(terms.hashes)) == terms.count == 2
    assert terms.importance[ALL][terms.by_term["parameter"]] == 2.0
