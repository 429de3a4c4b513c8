"""What one changed file changes elsewhere: relations that are lost, and what is reached through others."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from nibd.repair.relations.exports import shown
from nibd.repair.relations.imports import stem
from nibd.repair.relations.source_file import FILE_KEY, Key, SourceFile, last_part
from nibd.repair.relations.surface import code_lines, declared, inherited, surface
from nibd.stores.relation_types import Target
from nibd.stores.types import Level

_MAKES = ("__init__", "__new__", "constructor")
"""Members by which a class is made, and what a call of it leads to."""
_SPECIAL = re.compile(r"(.+)\.__\w+__\Z")
"""Methods of Python that are called without being named: by `with`, `for`, an index, an operator."""
_SETS_PARAMETERS = "constructor"
"""A callable whose parameters may be attributes, in TypeScript; else those have a dot before them."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class FileChange:
    """`old` or `new` is `None` when the file came or went.

    `kept` maps the index of a site in `new` to that of the same site in `old`.
    """

    old: SourceFile | None
    new: SourceFile | None
    kept: dict[int, int] = field(default_factory=dict)
    turned: frozenset[str] = frozenset()
    appeared: frozenset[str] = frozenset()
    """Those of `turned` that something is called now, or that lead elsewhere: the others only ceased."""
    joined: frozenset[str] = frozenset()
    """Names that one more unit has: what was not found by such a name may be found now."""
    gained: frozenset[tuple[Key, str]] = frozenset()
    """Classes that were there before, each with a name that it may only have now."""
    gained_beside: frozenset[tuple[str, str]] = frozenset()
    """The same, of classes that may stand elsewhere, by qualified name: methods are beside their type."""
    rebound: frozenset[str] | None = frozenset()
    """Names that are bound on lines that changed, outside of callables: they may mean something else in the
    file. `None`: all."""
    moved: frozenset[str] = frozenset()
    """Those of them that are imported from elsewhere, or are no imports."""
    bound: Mapping[Key, Collection[str]] = field(default_factory=dict)
    """Names that callables bind on lines that changed, by callable."""
    enclosed: frozenset[int] = frozenset()
    """Sites of `new` in units within a callable that binds their name on a line that changed."""
    resurfaced: frozenset[Key] = frozenset()
    """Symbols whose surface changed, and those that are gone."""
    changed_keys: frozenset[Key] = frozenset()
    """Units whose own text changed, of either version, and others; all of a file that came or went."""
    others: frozenset[Key] = frozenset()
    exposed: frozenset[Key] = frozenset()
    """Units of both versions in whose own text one of `moved` stands."""

    def seen(self, names: frozenset[str]) -> frozenset[str]:
        """Those of `names` by which other files can refer to something in either version."""
        return names if self._shown is None else names & self._shown

    @cached_property
    def _shown(self) -> frozenset[str] | None:
        both = [shown(file) for file in (self.old, self.new) if file is not None]
        found = [each for each in both if each is not None]
        stems = (stem(file.path) for file in (self.old, self.new) if file is not None)
        return frozenset(stems).union(*found) if len(found) == len(both) else None

    @cached_property
    def reaching(self) -> frozenset[Key]:
        """Units through which something else may be reached, or nothing: relations to these are looked at."""
        return self.changed_keys | self.exposed | self._used_specially

    @cached_property
    def _used_specially(self) -> frozenset[Key]:
        """Classes of which a method that nobody names gives back something else."""
        found = (_SPECIAL.match(name) for name, _ in self.resurfaced if not name.endswith(_MAKES))
        owners = {each[1] for each in found if each}
        files = (file for file in (self.old, self.new) if file is not None and file.language == "python")
        return frozenset(key for file in files if owners for key in file.keys if key[0] in owners)

    def loses(self, target: Target) -> bool:
        """Whether what a relation to `target`, in this file, says may no longer hold."""
        key = (target.qualified, target.ordinal)
        if self.old is None or self.new is None:
            return True
        if key not in self.changed_keys:
            return False
        if key in self.others:
            return True
        if not target.name:  # the unit as a whole
            return key not in self.new.ordinals
        return self.old.lines_with(key, target.name) != self.new.lines_with(key, target.name)

    def resurfaces(self, target: Target) -> bool:
        """Whether what is reached through `target`, in this file, may be something else."""
        key = (target.qualified, target.ordinal)
        if self.old is None or self.new is None:
            return True
        is_class = target.name in ("", last_part(target.qualified))
        is_exposed = key in self.exposed
        is_retyped = is_exposed and not self.moved.isdisjoint(_words(_said(self.new, key, target.name)))
        is_made = is_class and any((key, name) in self.gained for name in _MAKES)
        is_special = is_class and key in self._used_specially
        if is_retyped or is_made or is_special or key not in self.changed_keys:
            return is_retyped or is_made or is_special
        if key not in self.old.ordinals or key not in self.new.ordinals:
            return True
        if self.new.units[self.new.ordinals[key]].level is Level.CALLABLE:
            return key in self.resurfaced and not self._is_declared_alike(key, target.name)
        if is_class and key != FILE_KEY and inherited(self.old, key) != inherited(self.new, key):
            return True
        return _code_with(self.old, key, target.name) != _code_with(self.new, key, target.name)

    def is_other(self, target: Target) -> bool:
        """Whether `target`, in this file, is said to be something else, so that what is set to it is too."""
        key = (target.qualified, target.ordinal)
        if self.old is None or self.new is None or not self.resurfaces(target):
            return False
        if key not in self.old.ordinals or key not in self.new.ordinals or target.name in _MAKES:
            return False  # what leads to it is asked as lost; what is made is of a class
        if key in self._used_specially and target.name in ("", last_part(target.qualified)):
            return True
        unit = self.new.units[self.new.ordinals[key]]
        is_set = unit.level is Level.CALLABLE and target.name not in ("", unit.name)
        said = _set_on if is_set and unit.name != _SETS_PARAMETERS else _said
        before, after = (said(file, key, target.name) for file in (self.old, self.new))
        return before != after or not self.moved.isdisjoint(_words(after))

    def _is_declared_alike(self, key: Key, name: str) -> bool:
        """Whether a callable declares an attribute to be of the same type as before, by names that mean the
        same."""
        assert self.old is not None, "it was there before"
        assert self.new is not None, "it is there"
        before, after = declared(self.old, key, name), declared(self.new, key, name)
        return bool(before) and before == after and not self._binds_any(key, _words(before))

    def _binds_any(self, key: Key, names: set[str]) -> bool:
        """Whether one of `names` may mean something else in this unit."""
        assert self.new is not None, "it is there"
        if self.rebound is None or not names.isdisjoint(self.moved):
            return True
        around = self.new.around(key)
        return any(not names.isdisjoint(self.bound.get(each, ())) for each in around)


def _said(file: SourceFile, key: Key, name: str) -> list[str]:
    """The lines that say what is reached through a symbol."""
    unit = file.units[file.ordinals[key]]
    if name and name != unit.name:
        lines = _code_with(file, key, name)
        if unit.level is not Level.CALLABLE or unit.name == _SETS_PARAMETERS:
            return lines
        lines = [line for line in lines if f".{name}" in line]
        is_declared = not lines or declared(file, key, name)
        return lines if is_declared else [*lines, *(surface(file, key) or ())]
    if unit.level is Level.CALLABLE:
        return surface(file, key) or []
    return inherited(file, key) if key != FILE_KEY else []


def _set_on(file: SourceFile, key: Key, name: str) -> list[str]:
    """The lines of a callable that set an attribute."""
    sets = re.compile(rf"\.{re.escape(name)}\s*(?::[^=]*)?=(?!=)")
    return [line for line in _code_with(file, key, name) if sets.search(line)]


def _code_with(file: SourceFile, key: Key, name: str) -> list[str]:
    return list(code_lines(file.lines_with(key, name), file.language))


def _words(lines: Iterable[str]) -> set[str]:
    return {word for line in lines for word in _WORD.findall(line)}
