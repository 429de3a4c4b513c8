"""Sites: the identifiers of a file that a language server can be asked about, and what each does.

A site is an identifier token of the language's grammar: not a keyword (`this`, `super`, `self` in Rust), not
a literal, not the path of an import in quotes. What it does follows from syntax alone: the same text has the
same sites in every process, and an edit changes the kinds of sites in the unit that it is in, no others.

Steps: parse as for units; run the language's query (`site_rules` says what its captures mean); let captured
ranges (an import, a type, an assignment's target) change what is in them; give each site the innermost
unit around it.

Left out, since servers have no answer or none that lasts: what was blanked before parsing; in C and C++ the
conditions of `#if`, the bodies and parameters of macros, `#include`; in Rust the rules of `macro_rules!`.

Work is linear in the text: nothing walks the tree in Python, and no node is asked for its parent.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module

from tree_sitter import Language, Node, Query, QueryCursor

from nibd.repair.syntax.occurrences import FileSymbols, flat_own_ranges
from nibd.repair.syntax.parse import parse
from nibd.repair.syntax.positions import Positions
from nibd.repair.syntax.registry import spec_of
from nibd.repair.syntax.site_rules import SiteRules
from nibd.stores.relation_types import RelationKind, Site
from nibd.stores.types import Skip, Unit

__all__ = ["SITE_LANGUAGES", "FileSymbols", "Positions", "sites"]

_RULES = {
    "python": "sites_python.PYTHON",
    "javascript": "sites_ecmascript.JAVASCRIPT",
    "typescript": "sites_ecmascript.TYPESCRIPT",
    "tsx": "sites_ecmascript.TSX",
    "go": "sites_go.GO",
    "rust": "sites_rust.RUST",
    "c": "sites_c_family.C",
    "cpp": "sites_c_family.CPP",
}
"""Where the rules of each language are; a module is imported when its language is first met."""
SITE_LANGUAGES = tuple(_RULES)
"""The languages that have sites; of others `sites` raises `KeyError`."""

_LEAVES = ("alias", "type", "binding", "pattern", "definition", "write", "call", "inherit", "import")
"""From weak to strong."""
_KINDS = {str(kind): kind for kind in RelationKind}
_DEFINITIONS = ("binding", "pattern", "definition")
_Labels = dict[int, str]
"""The label of each identifier by where it starts, in the order of the text."""


def sites(content: bytes, language: str, units: Sequence[Unit]) -> tuple[Site, ...] | Skip:
    """The sites of decoded text in its order; `units` are those of the same text."""
    spec = spec_of(language)
    rules = _rules(language)
    assert spec is not None, language
    tree = parse(spec, spec.blanking(content) if spec.blanking else content)
    if isinstance(tree, Skip):
        return tree
    captures = QueryCursor(_query(tree.language, rules.query)).captures(tree.root_node)
    ends = {node.start_byte: node.end_byte for node in captures.get("site", ()) if not node.is_missing}
    labels = _labels(captures, ends)
    return tuple(_made(content, ends, labels, units, rules))


@cache
def _rules(language: str) -> SiteRules:
    module, _, name = _RULES[language].partition(".")
    rules = getattr(import_module(f"nibd.repair.syntax.{module}"), name)
    assert isinstance(rules, SiteRules), language
    return rules


@cache
def _query(grammar: Language, query: str) -> Query:
    return Query(grammar, query)


def _labels(captures: dict[str, list[Node]], ends: dict[int, int]) -> _Labels:
    starts = sorted(ends)
    labels = dict.fromkeys(starts, "read")
    for label in _LEAVES:
        for node in captures.get(label, ()):
            if ends.get(start := node.start_byte) == node.end_byte:
                labels[start] = label
    for start in _within(captures.get("in.type", ()), starts):
        if labels[start] == "read":
            labels[start] = "type"
    for start in _within(captures.get("in.write", ()), starts):
        if labels[start] in _DEFINITIONS:
            labels[start] = "write"
    for start in _within(captures.get("in.import", ()), starts):
        labels[start] = "import"
    for start in _within(captures.get("out", ()), starts):
        labels[start] = "out"
    return labels


def _within(nodes: Iterable[Node], starts: list[int]) -> Iterator[int]:
    """Those of `starts` that are in any of the nodes, once each."""
    reached = 0
    for low, high in sorted((node.start_byte, node.end_byte) for node in nodes):
        first = bisect_left(starts, low, reached)
        reached = bisect_left(starts, high, first)
        yield from starts[first:reached]


def _made(
    content: bytes, ends: dict[int, int], labels: _Labels, units: Sequence[Unit], rules: SiteRules
) -> Iterator[Site]:
    ranges = iter(flat_own_ranges(units))
    range_end, unit = 0, 0
    bound: set[tuple[int, str]] = set()
    for start, label in labels.items():
        while start >= range_end:
            _, range_end, unit = next(ranges, (0, len(content) + 1, 0))
        name = content[start : ends[start]].decode("utf-8", "replace")
        if name in rules.silent:
            continue
        kind = _KINDS.get(label)
        if kind is None:
            kind = _kind(label, name, (unit, name) in bound)
            if kind is None:
                continue
            if label == "binding":
                bound.add((unit, name))
        yield Site(start, ends[start], name, kind, unit)


def _kind(label: str, name: str, is_bound: bool) -> RelationKind | None:
    """What a label means that doesn't say it alone; `None`: no site."""
    if label == "binding":
        return RelationKind.WRITE if is_bound else RelationKind.DEFINITION
    if label == "pattern":
        return RelationKind.READ if name[0].isupper() else RelationKind.DEFINITION
    return RelationKind.TYPE if label == "alias" and name.endswith("_t") else None
