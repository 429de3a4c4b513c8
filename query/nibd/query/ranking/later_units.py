"""Units that come after all others in the answer to an issue: those that nobody changes to resolve one.

Parts of files that define nothing by themselves, what only holds other units, what only declares, and
tests that stand among ordinary code.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from nibd.query.symbols import components
from nibd.stores.types import Unit

LATER_KINDS = frozenset({"file", "section", "window", "namespace", "module", "prototype"})
_TEST_MODULES = frozenset({"test", "tests", "bench", "benches"})
_TEST_NAME = re.compile(r"(?:test|bench)_")


def is_later(unit: Unit, asked: Collection[str]) -> bool:
    """`asked` has the classes that the query asks for (`path_classes.asked_for`)."""
    return unit.kind in LATER_KINDS or ("test" not in asked and _is_test(unit))


def _is_test(unit: Unit) -> bool:
    *around, name = components(unit.qualified) or [""]
    return _TEST_NAME.match(name) is not None or not _TEST_MODULES.isdisjoint(around)
