"""Who includes whom, among files of C and C++, as far as what is written there tells.

An `#include` may mean each file whose path ends in what is written. One that is a macro may mean every file.
A file is *opaque* when it is not known what it includes (generated lists of macros, what was skipped): it may
include every file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from nibd.stores.types import RepoPath

_QUOTES = '<>"'


class IncludeGraph:
    """Files are put and dropped one by one, at a cost of what they include."""

    def __init__(self) -> None:
        self._endings: dict[RepoPath, frozenset[bytes]] = {}
        """What each file includes. By name of the included file, as all that follows: who, and its ending."""
        self._includers: dict[bytes, set[tuple[RepoPath, bytes]]] = defaultdict(set)
        self._opaque: dict[bytes, set[RepoPath]] = defaultdict(set)
        self._meant: dict[bytes, set[RepoPath]] = {}
        """The opaque files that one of the files may include."""
        self._by_macro: set[RepoPath] = set()

    def put(self, path: RepoPath, modules: Iterable[str] | None) -> None:
        """A file that is not there yet with what it includes, as written; `None`: it is opaque."""
        if modules is None:
            self._opaque[_name(path)].add(path)
            self._look(_name(path))
            return
        modules = tuple(modules)
        self._endings[path] = frozenset(map(_ending, modules))
        if any(module.isidentifier() for module in modules):
            self._by_macro.add(path)
        for ending in self._endings[path]:
            self._includers[_name(ending)].add((path, ending))
            self._look(_name(ending))

    def drop(self, path: RepoPath) -> None:
        name = _name(path)
        endings = self._endings.pop(path, None)
        if endings is None:
            self._opaque[name].discard(path)
            self._look(name)
            return
        self._by_macro.discard(path)
        for ending in endings:
            self._includers[_name(ending)].discard((path, ending))
            self._look(_name(ending))

    def reached(self, changed: Iterable[RepoPath]) -> set[RepoPath]:
        """`changed`, and the files that may include one of them by any way."""
        found = {*changed, *self._by_macro}.union(*self._meant.values())
        waiting = [*found]
        while waiting:
            path = waiting.pop()
            for who, ending in self._includers.get(_name(path), ()):
                if who not in found and _may_mean(ending, path):
                    found.add(who)
                    waiting.append(who)
        return found

    def _look(self, name: bytes) -> None:
        """Which opaque files of this name are included; nothing is kept of a name that stands nowhere."""
        includers, opaque = self._includers.get(name), self._opaque.get(name)
        meant = {path for path in opaque or () if any(_may_mean(each, path) for _, each in includers or ())}
        if meant:
            self._meant[name] = meant
        else:
            self._meant.pop(name, None)
        if not includers:
            self._includers.pop(name, None)
        if not opaque:
            self._opaque.pop(name, None)


def _ending(module: str) -> bytes:
    """What the path of an included file ends in."""
    parts = [each for each in module.strip(_QUOTES).replace("\\", "/").split("/") if each not in ("", ".")]
    above = max((at + 1 for at, each in enumerate(parts) if each == ".."), default=0)
    return "/".join(parts[above:]).encode()


def _name(path: bytes) -> bytes:
    return path.rpartition(b"/")[2]


def _may_mean(ending: bytes, path: RepoPath) -> bool:
    return path == ending or path.endswith(b"/" + ending)
