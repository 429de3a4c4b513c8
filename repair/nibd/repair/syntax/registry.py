"""The languages that have a grammar here: one module of this package each, named as the language.

Such a module holds `SPEC`. It is imported when its language is first met.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec

from nibd.repair.languages import CODE_LANGUAGES
from nibd.repair.syntax.spec import Spec


@cache
def spec_of(language: str) -> Spec | None:
    """Give a language's spec, or `None` for what is cut into windows or sections."""
    module = f"nibd.repair.syntax.{language}"
    if language not in CODE_LANGUAGES or find_spec(module) is None:
        return None
    spec = import_module(module).SPEC
    assert isinstance(spec, Spec), module
    return spec
