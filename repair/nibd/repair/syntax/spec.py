"""What the framework needs to know about one language: a grammar, a query, a way to name.

The query is tree-sitter's; its captures say what a node is:

`@scope.KIND`, `@callable.KIND`
    the node is a unit of that level and kind. One match, one unit; of two patterns that match the
    same node the one written first counts.
`@name` and any other name
    a text for the unit's naming, in the same match.
`@body`
    where the unit's header ends, in the same match or a wrapper's. Without it the whole unit is header.
`@end`
    where the unit ends, when not where its node does, in the same match.
`@inner`, `@outer`
    the unit `@inner` is taken with its wrapper `@outer` (`export`, decorators, `template <…>`). Other
    captures of the match are texts for the unit's naming, unless the unit or a wrapper further in has
    one of that name: so a value is named by what it is bound to.
`@comment`
    belongs to the unit directly below it: alone on its lines, no blank line between.
`@attribute`
    belongs to the next unit, blank lines or not.
`@import`, `@module`
    an import statement and the module in it as written; a match for each module. Other captures
    of the match are texts for `modules`.

Text predicates (`#eq?`, `#match?`) do not work here: the tree is parsed from chunks and holds no
text. Decide on text in `naming`, which may answer `None`: no unit, and in `modules`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from nibd.stores.types import Level


@dataclass(frozen=True, slots=True)
class Match:
    """A node that may be a unit, with the texts of its and its wrappers' other captures by their names."""

    level: Level
    kind: str
    texts: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.texts.get("name", "")


@dataclass(frozen=True, slots=True)
class Enclosing:
    """The innermost unit around a match; `prefix` begins the qualified names inside it."""

    level: Level
    kind: str
    prefix: str


@dataclass(frozen=True, slots=True)
class Naming:
    """How a unit is called. `prefix` begins the qualified names of the units inside it."""

    kind: str
    name: str
    qualified: str
    prefix: str


NESTED_ANGLES = re.compile(rb"(?:(?<![\w.])[\w.]++\s*+<\s*+){200}")
"""For `at_most`: type arguments or comparisons, which nobody can tell apart before the last one."""

Blanking = Callable[[bytes], bytes]
"""From a text to one of equal length that is parsed in its stead, with what upsets the grammar blank."""
NamingRule = Callable[[Match, Enclosing], Naming | None]
ModulesRule = Callable[[Mapping[str, str]], Sequence[str]]
"""From the texts of an import's match to the modules it names; none: it is no import."""


def as_written(texts: Mapping[str, str]) -> Sequence[str]:
    """The rule of most languages: the text of `@module`."""
    return (texts["module"],)


@dataclass(frozen=True, slots=True)
class Spec:
    """One language. `grammar` is its name in tree-sitter-language-pack.

    `at_most` says how often a text may occur, for a grammar that aborts the process, or takes memory that
    grows with the square of it, when what the text opens is nested too deeply. A file with more of it is
    `too_deep`.
    """

    grammar: str
    query: str
    naming: NamingRule
    modules: ModulesRule = as_written
    at_most: tuple[tuple[re.Pattern[bytes], int], ...] = ()
    blanking: Blanking | None = None
    fallback: Blanking | None = None
    """Done after `blanking` when much of a text doesn't parse without it."""


def joined(prefix: str, separator: str, name: str) -> str:
    """Write `name` inside `prefix`, either of which may be empty."""
    return f"{prefix}{separator}{name}" if prefix and name else prefix or name


def nested_names(separator: str, *, members: Mapping[str, str] | None = None) -> NamingRule:
    """Name each unit by those around it; a match without `@name` is no unit.

    `members` renames kinds directly inside a scope: `{"function": "method"}`.
    """
    renamed = members or {}

    def naming(match: Match, enclosing: Enclosing) -> Naming | None:
        if not match.name:
            return None
        kind = renamed.get(match.kind, match.kind) if enclosing.level == Level.SCOPE else match.kind
        qualified = joined(enclosing.prefix, separator, match.name)
        return Naming(kind, match.name, qualified, qualified)

    return naming
