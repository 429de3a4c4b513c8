"""Who includes whom, in C and C++: what a change can reach, and so what a repair has to ask.

What a file's names refer to follows from its text, from what it includes, directly or not, and from its
flags. So a change reaches the changed files, and those that include one of them by any way; of the plan
(`plan`) the rest is dropped. An `#include` may mean each file of the tree whose path ends in what is written
there. One that is a macro may mean every file; so may a file whose own includes are not known (generated
lists of macros, what was skipped) include every file.

A server that has a process for each file pays for the file. So an unchanged file is not opened for a target
whose line changed when the target is still there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import replace

from nibd.repair.relations.change import FileChange
from nibd.repair.relations.families import FAMILIES
from nibd.repair.relations.plan import Asked, Plan
from nibd.repair.servers.clangd import INCLUDE_FOLDERS
from nibd.stores.bitmap import Bitmap
from nibd.stores.relation_types import Target
from nibd.stores.structure import StructureStore
from nibd.stores.types import RepoPath

_QUOTES = '<>"'
Includes = Mapping[RepoPath, Iterable[str]]
"""What each file includes, as written there."""


def reached_between(structure: StructureStore, old: Bitmap, new: Bitmap) -> set[RepoPath]:
    """What the transition between two listings changed, and what includes any of that at the new one."""
    changed = {file.path for rows in (new.minus(old), old.minus(new)) for _, file in structure.files(rows)}
    includes: dict[RepoPath, list[str]] = {}
    opaque: list[RepoPath] = []
    for row, file in structure.files(new):
        if file.skip is None and file.language in FAMILIES["c"]:
            includes[file.path] = [each.module for each in structure.imports(row)]
        else:
            opaque.append(file.path)
    return reached(changed, includes, opaque)


def guesses(structure: StructureStore, listing: Bitmap) -> tuple[bool, ...]:
    """What flags are guessed by where the tree has no compile commands: see `clangd`."""
    folders = (f"{name}/".encode() for name in INCLUDE_FOLDERS if name)
    has_folders = [next(iter(structure.under(listing, each)), None) is not None for each in folders]
    return (*has_folders, any(file.path.endswith(b".c") for _, file in structure.files(listing)))


def reached(
    changed: Collection[RepoPath], includes: Includes, opaque: Iterable[RepoPath] = ()
) -> set[RepoPath]:
    """`changed`, and the files that include one of them by any way; `opaque` ones may include every file."""
    by_name: dict[bytes, list[tuple[RepoPath, bytes]]] = defaultdict(list)
    found = set(changed)
    for path, modules in includes.items():
        for module in modules:
            ending = _ending(module)
            by_name[_name(ending)].append((path, ending))
            if module.isidentifier():  # a macro
                found.add(path)
    found.update(path for path in opaque if any(_may_mean(e, path) for _, e in by_name.get(_name(path), ())))
    waiting = [*found]
    while waiting:
        path = waiting.pop()
        for who, ending in by_name.get(_name(path), ()):
            if who not in found and _may_mean(ending, path):
                found.add(who)
                waiting.append(who)
    return found


def narrowed(plan: Plan, changes: Mapping[RepoPath, FileChange], reached: Container[RepoPath]) -> Plan:
    """The plan without what can't be reached, and without files that need not be opened."""
    elsewhere = {}
    for path, asked in plan.elsewhere.items():
        why = {
            index: rule
            for index, rule in asked.why.items()
            if rule == "unknown" or (path in reached and not _is_kept(asked, index, rule, changes))
        }
        if why:
            elsewhere[path] = Asked(asked.file, why)
    return replace(plan, elsewhere=elsewhere)


def _is_kept(asked: Asked, index: int, rule: str, changes: Mapping[RepoPath, FileChange]) -> bool:
    targets = asked.file.relations[index].targets
    return rule == "lost" and bool(targets) and not any(_is_gone(each, changes) for each in targets or ())


def _is_gone(target: Target, changes: Mapping[RepoPath, FileChange]) -> bool:
    """Whether a target has no place in the new version, or may be another one of its name there."""
    change = None if target.is_external else changes.get(target.path)
    if change is None or not change.loses(target):
        return False
    key = (target.qualified, target.ordinal)
    if change.old is None or change.new is None or key not in change.new.ordinals:
        return True
    before, after = (len(file.lines_with(key, target.name)) for file in (change.old, change.new))
    return before != after


def _ending(module: str) -> bytes:
    """What the path of an included file ends in."""
    parts = [each for each in module.strip(_QUOTES).replace("\\", "/").split("/") if each not in ("", ".")]
    above = max((at + 1 for at, each in enumerate(parts) if each == ".."), default=0)
    return "/".join(parts[above:]).encode()


def _name(path: bytes) -> bytes:
    return path.rpartition(b"/")[2]


def _may_mean(ending: bytes, path: RepoPath) -> bool:
    return path == ending or path.endswith(b"/" + ending)
