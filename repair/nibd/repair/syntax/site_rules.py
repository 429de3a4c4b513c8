"""What `sites` needs to know about one language: a query whose captures say what identifiers do.

On identifiers (leaves of the tree; a capture on anything else counts for nothing):

`@site`
    an identifier. Without another capture it is read. Every leaf below is captured as this too.
`@type`, `@definition`, `@write`, `@call`, `@inherit`, `@import`
    what it does. Of several the one furthest right in this list counts.
`@binding`
    a definition in languages where assigning declares: of a name's bindings in one unit only the first is
    one, later ones write.
`@pattern`
    a definition, unless it begins with a capital: then it names a constant or a variant to compare with.
`@alias`
    a type that is built into the grammar but declared in a header: no site unless it ends in `_t`.

On any node, for all identifiers in it:

`@in.type`
    those that would be read are types.
`@in.write`
    those that would be definitions are written.
`@in.import`
    all are imports.
`@out`
    no sites, whatever else they are.

Each match has one capture: so it is over with its node, and memory stays linear. As in `spec`, the tree
holds no text, so text predicates don't work.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SiteRules:
    """`silent` names refer to nothing although they are identifiers of the grammar."""

    query: str
    silent: frozenset[str] = frozenset()


def alternatives(template: str, *nodes: str) -> str:
    """Write `template` once for each of `nodes`, in the place of `%`."""
    return "\n".join(template.replace("%", node) for node in nodes)
