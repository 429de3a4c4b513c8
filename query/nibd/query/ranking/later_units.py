"""Units that come after all others in the answer to an issue: those that nobody changes to resolve one.

Parts of files that define nothing by themselves, what only holds other units, what only declares, and
tests that stand among ordinary code. A method `test_client` of an ordinary class is no test, and what the
issue mentions is never taken for one.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from nibd.query.symbols import components
from nibd.stores.types import Unit

LATER_KINDS = frozenset({"file", "section", "window", "namespace", "module", "prototype"})
_TEST_MODULES = frozenset({"test", "tests", "bench", "benches"})
_TEST_NAME = re.compile(r"(?:test|bench)_")
_TEST_CLASS = re.compile(r"Tests?(?![a-z])|.*(?:Tests?|TestCase)$")


def is_later(unit: Unit, asked: Collection[str], is_mentioned: bool) -> bool:
    """`asked` has the classes that the query asks for (`path_classes.asked_for`)."""
    return unit.kind in LATER_KINDS or ("test" not in asked and not is_mentioned and _is_test(unit))


def _is_test(unit: Unit) -> bool:
    """By the module it stands in, or by its name where that stands for itself or in a class of tests."""
    *around, name = components(unit.qualified) or [""]
    if not _TEST_MODULES.isdisjoint(around):
        return True
    return _TEST_NAME.match(name) is not None and (not around or _TEST_CLASS.match(around[-1]) is not None)
