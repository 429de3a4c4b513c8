"""Language families: the languages whose files one language server reads together."""

from __future__ import annotations

from collections.abc import Mapping

from nibd.stores.relation_types import FAMILIES, FAMILY_OF

__all__ = ["FAMILIES", "FAMILY_OF", "families_of"]


def families_of(counts: Mapping[str, int]) -> list[str]:
    """The families that a tree has files of, from its structural view's counts (`language:python`)."""
    languages = {key.removeprefix("language:") for key, count in counts.items() if count}
    return sorted({FAMILY_OF[language] for language in languages if language in FAMILY_OF})
