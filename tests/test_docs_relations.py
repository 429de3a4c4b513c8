"""docs/relations.md and docs/languages.md say of language servers what their drivers say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from nibd.repair.relations.plan import MAX_REACH
from nibd.repair.servers import DRIVERS

DOCS = Path(__file__).parent.parent / "docs"
RELATIONS = DOCS / "relations.md"
GUARDS = re.compile(r"(<!-- guards: .* -->\n).*?(<!-- end of guards -->\n)", re.DOTALL)


def guards() -> str:
    return "\n".join(("", "| server | what could run | shut by |", "|---|---|---|", *_rows(), "", ""))


def _rows() -> Iterator[str]:
    for driver in DRIVERS:
        for guard in driver.guards:
            yield f"| {driver.server} | {guard.threat} | {guard.shut_by} |"


def test_each_guard_of_each_server_is_in_the_table(request: pytest.FixtureRequest) -> None:
    page = RELATIONS.read_text()
    expected = GUARDS.sub(lambda marks: marks[1] + guards() + marks[2], page)
    assert GUARDS.search(page), "the marks around the table are gone"

    if request.config.getoption("--update-goldens"):
        RELATIONS.write_text(expected)

    assert RELATIONS.read_text() == expected


def test_each_server_is_shown_with_how_to_get_it() -> None:
    table = (DOCS / "languages.md").read_text()
    for driver in DRIVERS:
        row = next(line for line in table.splitlines() if line.startswith(f"| `{driver.family}` |"))
        assert driver.server in row
        assert driver.install in row


def test_where_the_plan_is_cut_is_as_documented() -> None:
    assert f"cut at {MAX_REACH:,} sites" in RELATIONS.read_text()
