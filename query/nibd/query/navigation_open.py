"""Sites that could belong to an answer, or not, since it is not known where they lead.

What a server was not asked about, or did not answer, is *unknown*; of what it does not build it knows nothing
(*unbuilt*); what it has no answer for leads *nowhere*.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from nibd.query.navigation_view import FamilyView
from nibd.stores.relation_types import Relation, RelationKind, Target

USES = tuple(kind for kind in RelationKind if kind is not RelationKind.DEFINITION)
"""What a site does that can belong to an answer: what is declared there refers to itself, known or not."""


def unknown_sites(view: FamilyView, targets: Collection[Target]) -> int:
    """How many sites that are called like one of `targets` nothing is known of."""
    names = {target.name for target in targets if target.name}
    return sum(relation.targets is None for relation in open_relations(view, names))


def unbuilt(view: FamilyView, names: Collection[str], kinds: Collection[RelationKind] = USES) -> int:
    """How many sites that are called so are in files that the server does not build."""
    return sum(relation.unbuilt for relation in open_relations(view, names, kinds))


def leading_nowhere(
    view: FamilyView, targets: Iterable[Target], kinds: Collection[RelationKind] = USES
) -> int:
    """How many sites that are called like one of `targets` lead nowhere: nothing was found, or is known."""
    names = {target.name for target in targets if target.name}
    return sum(
        not relation.targets
        for record in view.naming(names)
        for relation in record.file().relations
        if relation.site.name in names and relation.site.kind in kinds
    )


def open_relations(
    view: FamilyView, names: Collection[str], kinds: Collection[RelationKind] = USES
) -> Iterator[Relation]:
    """The relations of sites that are called so, in files with sites that nothing is known of."""
    for record in view.naming(names) if names and view.unknown != 0 else ():
        if record.unknown:
            relations = record.file().relations
            yield from (r for r in relations if r.site.name in names and r.site.kind in kinds)
