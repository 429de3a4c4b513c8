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
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from nibd.repair.relations.built import switched
from nibd.repair.relations.source_file import Key, SourceFile
from nibd.repair.relations.surface import code_lines, declared, header, surface
from nibd.stores.relation_types import RelationKind, Site, Target
from nibd.stores.types import Level

_BINDS_ANY = re.compile(r"import\s*\*|import\s+\.|export\s*\*|::\s*\*|#\s*include|using\s+namespace")
_BINDING = frozenset({RelationKind.DEFINITION, RelationKind.WRITE, RelationKind.IMPORT})
_FILE_KEY: Key = ("", 0)
_EXPORTS = "__all__"
_SETS_ATTRIBUTES = frozenset({"python", "javascript", "typescript", "tsx"})
_MAKES = ("__init__", "__new__", "constructor")
"""Members by which a class is made, and what a call of it leads to."""
_SETS_PARAMETERS = "constructor"
"""A callable whose parameters may be attributes, in TypeScript; else those have a dot before them."""
_NO_WORD = re.compile(r"\W+")
_WORD = re.compile(r"\w+")
_AS = re.compile(rb"([\w.]+)\s+as\s+\Z")
_SAYS_WHERE = re.compile(rb"[\w. \t]*\bimport\b|\s*::")
"""Behind a name in an import, which takes what comes then from there."""
_QUOTED = re.compile(r"""["'](\w+)["']""")
_FROM_QUOTES = (re.compile(r"""\bfrom\s*["']([^"']+)["']"""), False)
_SOURCE = {
    "python": (re.compile(r"^\s*(?:from\s+(\S+)\s+import|import)\b"), True),
    "javascript": _FROM_QUOTES,
    "typescript": _FROM_QUOTES,
    "tsx": _FROM_QUOTES,
    "rust": (re.compile(r"^\s*(?:pub\b.*?\s)?(?:use\s+([\w:]*)::|use\b|mod\b|extern\b)"), True),
}
"""How an import says from where it takes what it names; whether that stands before the names."""


@dataclass(frozen=True, slots=True)
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
        is_retyped = key in self.exposed and not self.moved.isdisjoint(_words(self._said(key, target.name)))
        is_made = any((key, name) in self.gained for name in _MAKES) and target.name in ("", _last(key))
        if is_retyped or is_made or key not in self.changed_keys:
            return is_retyped or is_made
        if key not in self.old.ordinals or key not in self.new.ordinals:
            return True
        if self.new.units[self.new.ordinals[key]].level is Level.CALLABLE:
            return key in self.resurfaced and not self._is_declared_alike(key, target.name)
        if not target.name:
            return key != _FILE_KEY and header(self.old, key) != header(self.new, key)
        return self._code_with(self.old, key, target.name) != self._code_with(self.new, key, target.name)

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

    def _said(self, key: Key, name: str) -> list[str]:
        """The lines that say what is reached through a symbol."""
        assert self.new is not None, "it is there"
        unit = self.new.units[self.new.ordinals[key]]
        if name and name != unit.name:
            lines = self._code_with(self.new, key, name)
            if unit.level is not Level.CALLABLE or unit.name == _SETS_PARAMETERS:
                return lines
            lines = [line for line in lines if f".{name}" in line]
            is_declared = not lines or declared(self.new, key, name)
            return lines if is_declared else [*lines, *(surface(self.new, key) or ())]
        if unit.level is Level.CALLABLE:
            return surface(self.new, key) or []
        return header(self.new, key) if key != _FILE_KEY else []

    @staticmethod
    def _code_with(file: SourceFile, key: Key, name: str) -> list[str]:
        return list(code_lines(file.lines_with(key, name), file.language))


def _last(key: Key) -> str:
    return key[0].rpartition(".")[2]


def _words(lines: Iterable[str]) -> set[str]:
    return {word for line in lines for word in _WORD.findall(line)}


def compare(old: SourceFile | None, new: SourceFile | None, *, is_switched: bool = False) -> FileChange:
    """The change from one version of a path to another. `is_switched`: what says so stands elsewhere."""
    if old is None or new is None:
        only = old or new
        assert only is not None
        names = {name for _, name, _ in _visible(only)} | {_stem(only.path)}
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
        )
    switches = frozenset((*old.keys, *new.keys)) if is_switched else switched(old, new)
    others = _renumbered(old, new) | switches
    changed = others | {
        key for key in {**old.own_texts, **new.own_texts} if old.own_texts.get(key) != new.own_texts.get(key)
    }
    before, after = _visible(old), _visible(new)
    rebound, moved, bound, enclosed = _rebound(old, new)
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
        rebound,
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


def _visible(file: SourceFile) -> set[tuple[Key, str, str]]:
    """Names that can be referred to from outside the unit that holds them, with that unit.

    What is imported comes with where it comes from; of units that share a qualified name, each counts.
    """
    found = {
        (_FILE_KEY, unit.name, str(key[1]))
        for key, unit in zip(file.keys, file.units, strict=True)
        if unit.name
    }
    found.update((_FILE_KEY, name, _EXPORTS) for name in _exported(file))
    binding = [site for site in file.sites if site.kind in _BINDING]
    has_imports = any(site.kind is RelationKind.IMPORT for site in binding)
    sources, passed_on = (_sources(file), _passed_on(file)) if has_imports else ([], [])
    for site in binding:
        is_import = site.kind is RelationKind.IMPORT
        line = file.line_of(site) if is_import else 0
        if is_import and not passed_on[line]:
            continue
        if file.units[site.unit].level is not Level.CALLABLE or _is_set_outside(file, site):
            source = sources[line] if is_import else ""
            is_of_source = site.name in _NO_WORD.split(source)  # it says from where, and takes nothing
            found.add((file.keys[site.unit], site.name, "" if is_of_source else source))
    return found


def _gained(
    old: SourceFile, new: SourceFile, visible: Iterable[tuple[Key, str]]
) -> Iterator[tuple[Key, str]]:
    """Members: units, names that are bound in a class, and those that its callables bind for others."""
    units = ((key, new.units[new.ordinals[key]].name) for key in new.ordinals.keys() - old.ordinals)
    inside = ((name, new.around(key)[1:2]) for key, name in units)
    bound = ((name, new.around(key)[:2]) for key, name in visible if key in new.ordinals)
    for name, around in chain(inside, bound):
        scopes = (each for each in around if new.units[new.ordinals[each]].level is Level.SCOPE)
        scope = next(scopes, None)
        if scope in old.ordinals:
            yield scope, name


def _is_set_outside(file: SourceFile, site: Site) -> bool:
    """Whether a callable binds it for others: an attribute that comes to be by being set, or a global."""
    if site.kind is not RelationKind.WRITE or file.language not in _SETS_ATTRIBUTES:
        return False
    is_attribute = file.content[site.start_byte - 1 : site.start_byte] == b"."
    return is_attribute or "global " in file.own_texts[file.keys[site.unit]]


def _exported(file: SourceFile) -> list[str]:
    """The words in quotes of a module that lists what a star takes from it."""
    text = file.own_texts.get(_FILE_KEY, "")
    return _QUOTED.findall(text) if _EXPORTS in text else []


def _passed_on(file: SourceFile) -> list[bool]:
    """By line, whether others see what an import on it names."""
    lines = file.lines
    if file.language == "go":
        return [False] * len(lines)
    if file.language != "rust":
        return [True] * len(lines)
    found, is_public = [], False
    for line in lines:
        if _SOURCE["rust"][0].match(line):
            is_public = line.lstrip().startswith(("pub", "mod", "extern"))
        found.append(is_public)
    return found


def _sources(file: SourceFile) -> list[str]:
    """By line, from where an import on it takes what it names."""
    pattern, before = _SOURCE.get(file.language, (None, False))
    lines = file.lines
    if pattern is None:
        return [""] * len(lines)
    found, source = [], ""
    for line in lines if before else reversed(lines):
        match = pattern.match(line) if before else "from" in line and pattern.search(line)
        if match:
            source = match[1] or ""
        found.append(source)
    return found if before else found[::-1]


def _rebound(
    old: SourceFile, new: SourceFile
) -> tuple[frozenset[str] | None, frozenset[str], Mapping[Key, Collection[str]], frozenset[int]]:
    """Names that are bound on lines that changed; `None` when such a line may bind any name; which moved.

    What a callable binds is bound in it alone: by callable, and the sites of units within it.
    """
    moved = {name for name, _ in _imported(old) ^ _imported(new)}
    before, after = (Counter(map(str.strip, file.lines)) for file in (old, new))
    changed = (before - after) | (after - before)
    if any(_BINDS_ANY.search(line) for line in changed):
        return None, frozenset(moved), {}, frozenset()
    names: set[str] = set()
    inside: dict[Key, set[str]] = defaultdict(set)
    for file in (old, new):
        for site in _bound_on(file, changed):
            if file.units[site.unit].level is Level.CALLABLE:
                inside[file.keys[site.unit]].add(site.name)
                continue
            names.add(site.name)
            if site.kind is not RelationKind.IMPORT:
                moved.add(site.name)
    return frozenset(names), frozenset(moved), inside, frozenset(_enclosed(new, inside))


def _imported(file: SourceFile) -> set[tuple[str, str]]:
    """What imports outside of callables name, each with from where and as what it is taken."""
    imports = [site for site in file.sites if site.kind is RelationKind.IMPORT]
    outside = [
        site
        for site in imports
        if file.units[site.unit].level is not Level.CALLABLE
        and not _SAYS_WHERE.match(file.content, site.end_byte)
    ]
    says = _sources(file) if outside and file.language in _SOURCE else list(map(str.strip, file.lines))
    return {(site.name, says[file.line_of(site)] + _renamed(file, site)) for site in outside}


def _renamed(file: SourceFile, site: Site) -> str:
    """What an import calls by the name of this site."""
    found = _AS.search(file.content, max(0, site.start_byte - 200), site.start_byte)
    return f" {found[1].decode('utf-8', 'replace')}" if found else ""


def _exposed(old: SourceFile, new: SourceFile, moved: Collection[str]) -> Iterator[Key]:
    if not moved:
        return
    names = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(moved)))})\b")
    for key, text in new.own_texts.items():
        if key in old.ordinals and names.search(text):
            yield key


def _enclosed(file: SourceFile, inside: Mapping[Key, set[str]]) -> Iterator[int]:
    for ordinal, key in enumerate(file.keys):
        names = {name for each in file.around(key)[1:] for name in inside.get(each, ())}
        if names:
            yield from (i for i in file.sites_by_unit.get(ordinal, ()) if file.sites[i].name in names)


def _bound_on(file: SourceFile, changed: Container[str]) -> Iterator[Site]:
    changed_lines = {number for number, line in enumerate(file.lines) if line.strip() in changed}
    statement: list[Site] = []
    is_changed, last = False, -2
    for site in file.sites:
        if site.kind not in _BINDING:
            continue
        line = file.line_of(site)
        if site.kind is not RelationKind.IMPORT:
            if line in changed_lines:
                yield site
            continue
        if line > last + 1:  # another statement: what one imports changes with any line of it
            yield from statement if is_changed else ()
            statement, is_changed = [], False
        statement.append(site)
        is_changed, last = is_changed or line in changed_lines, line
    yield from statement if is_changed else ()


def _stem(path: bytes) -> str:
    """What a file is imported as: its name without endings, or its folder's for an index."""
    return module_of(path)[1]


def module_of(path: bytes) -> tuple[str, str]:
    """The folder that a file is imported from, and as what: for an index that is its folder's name."""
    *folders, name = path.decode("utf-8", "replace").split("/")
    stem = name.split(".")[0]
    if stem in ("__init__", "index", "mod", "lib", "main") and folders:
        stem = folders.pop()
    return "/".join(folders), stem
