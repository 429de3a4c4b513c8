"""What a new version of a file keeps of the relations of the old one, and what it may change elsewhere.

Units are matched by key and compared by own text. A unit is *deleted*, *added*, *affected* (its own text
differs), *shifted* (the same text elsewhere) or *unchanged*. Sites of the last two keep their relations, by
their order in the own text; all others have to be asked. Of units that share qualified name and text, as in
tests, which is which can't be told where there are more or fewer of that name than before. Those, and units
that are built on other conditions than before (`built`), are *others*, and count as affected.

What others may notice of the change:

- a target is *lost* when the line that it stands on, or one that shares its name in that unit, changed, or
  its unit is another;
- a name is *turned* when something visible from outside the unit begins or ceases to be called so, or is
  imported from elsewhere and so leads elsewhere who imports it from here;
- a symbol's *surface* changed (`surface`): then whoever refers to it may refer to other things through it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import chain

from nibd.repair.relations.bindings import rebound, visible
from nibd.repair.relations.built import switched
from nibd.repair.relations.file_change import FileChange
from nibd.repair.relations.imports import stem
from nibd.repair.relations.source_file import Key, SourceFile
from nibd.repair.relations.surface import surface
from nibd.stores.relation_types import RelationKind
from nibd.stores.types import Level

_BESIDE = {"go": ".", "rust": "::"}
"""Languages in which methods stand beside their type, and what joins its name and theirs."""


def compare(old: SourceFile | None, new: SourceFile | None, *, is_switched: bool = False) -> FileChange:
    """The change from one version of a path to another. `is_switched`: what says so stands elsewhere."""
    if old is None or new is None:
        only = old or new
        assert only is not None
        names = {name for _, name, _ in visible(only)} | {stem(only.path)}
        keys = frozenset(only.keys)
        all_names = frozenset(names)
        return FileChange(
            old,
            new,
            turned=all_names,
            appeared=all_names if new else frozenset(),
            rebound=all_names,
            resurfaced=keys,
            changed_keys=keys,
            gained_beside=frozenset(_gained_beside(None, new) if new else ()),
        )
    switches = frozenset((*old.keys, *new.keys)) if is_switched else switched(old, new)
    others = _renumbered(old, new) | switches
    changed = others | {
        key for key in {**old.own_texts, **new.own_texts} if old.own_texts.get(key) != new.own_texts.get(key)
    }
    before, after = visible(old), visible(new)
    bound_anew, moved, bound, enclosed = rebound(old, new)
    turned = frozenset(name for _, name, _ in before ^ after)
    appeared = frozenset(name for _, name, _ in after - before)
    if switches:
        other = {name for key, name, _ in before | after if key in switches}
        other |= {
            file.units[at].name for file in (old, new) for key, at in file.ordinals.items() if key in switches
        }
        turned, appeared = turned | other, appeared | other
    return FileChange(
        old,
        new,
        _kept(old, new, changed),
        turned,
        appeared,
        frozenset(new.units[new.ordinals[key]].name for key in new.ordinals.keys() - old.ordinals) - turned,
        frozenset(_gained(old, new, ((key, name) for key, name, _ in after - before))),
        frozenset(_gained_beside(old, new)),
        bound_anew,
        moved,
        bound,
        enclosed,
        switches | {key for key in changed if surface(old, key) != surface(new, key)},
        changed,
        others,
        frozenset(_exposed(old, new, moved)),
    )


def _renumbered(old: SourceFile, new: SourceFile) -> frozenset[Key]:
    """The one that is left over may be any of those that looked like it, each among names of its own."""
    before, after = (Counter(qualified for qualified, _ in file.keys) for file in (old, new))
    found: set[Key] = set()
    for file in (old, new):
        alike = Counter((key[0], text) for key, text in file.own_texts.items())
        found.update(
            key
            for key, text in file.own_texts.items()
            if alike[key[0], text] > 1 and before[key[0]] != after[key[0]]
        )
    return frozenset(found)


def _kept(old: SourceFile, new: SourceFile, changed: Collection[Key]) -> dict[int, int]:
    kept: dict[int, int] = {}
    for key, ordinal in new.ordinals.items():
        if key in changed:
            continue
        now = new.sites_by_unit.get(ordinal, [])
        before = old.sites_by_unit.get(old.ordinals[key], [])
        # Broken code around a unit can make a parser see other sites in the same text.
        if [_form(new, i) for i in now] == [_form(old, i) for i in before]:
            kept.update(zip(now, before, strict=True))
    return kept


def _form(file: SourceFile, index: int) -> tuple[str, RelationKind]:
    site = file.sites[index]
    return (site.name, site.kind)


def _gained(
    old: SourceFile, new: SourceFile, appeared: Iterable[tuple[Key, str]]
) -> Iterator[tuple[Key, str]]:
    """Members: units, names that are bound in a class, and those that its callables bind for others."""
    units = ((key, new.units[new.ordinals[key]].name) for key in new.ordinals.keys() - old.ordinals)
    inside = ((name, new.around(key)[1:2]) for key, name in units)
    bound = ((name, new.around(key)[:2]) for key, name in appeared if key in new.ordinals)
    for name, around in chain(inside, bound):
        scopes = (each for each in around if new.units[new.ordinals[each]].level is Level.SCOPE)
        scope = next(scopes, None)
        if scope in old.ordinals:
            yield scope, name


def _gained_beside(old: SourceFile | None, new: SourceFile) -> Iterator[tuple[str, str]]:
    separator = _BESIDE.get(new.language)
    for key, ordinal in new.ordinals.items() if separator else ():
        if old is None or key not in old.ordinals:
            owner, _, name = key[0].rpartition(separator or "")
            if owner and new.units[ordinal].level is Level.CALLABLE:
                yield owner, name


def _exposed(old: SourceFile, new: SourceFile, moved: Collection[str]) -> Iterator[Key]:
    if not moved:
        return
    names = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(moved)))})\b")
    for key, text in new.own_texts.items():
        if key in old.ordinals and names.search(text):
            yield key
