"""Trees as Git stores them: parsed, walked and compared, with no library's help.

Both ways of reading objects (libgit2, the git executable) hand over the same raw bytes, so what is
listed and what differs can't depend on which one was used. Comparing descends only where two ids
differ: it costs what changed and the folders above it, not the size of the tree.

A tree is untrusted: names that Git itself refuses to check out (`.`, `..`, `.git`, with a slash)
are left out, and a tree that unfolds into absurdly many entries is refused.

Renames are found by equal blobs only. Git and libgit2 both go on to similar files, but measure
similarity differently; a rename is a hint here, and the same one everywhere is worth more.
"""

from __future__ import annotations

import re
import stat
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from nibd.repair.git.errors import MissingObject, Unsupported
from nibd.repair.git.types import EXECUTABLE, REGULAR, SUBMODULE, SYMLINK, Absence, ChangeSet, TreeEntry
from nibd.stores.types import BlobId, RepoPath, TreeId

MAX_NODES = 5_000_000
"""Files and folders in one tree. Beyond it, a few objects that repeat each other are a bomb."""
TREE_MODE = 0o040000
EMPTY_TREES = frozenset(
    {
        "",
        "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
    }
)
"""nibd's name for the empty tree, and Git's, whose object need not exist."""

_ENTRY = {
    size: re.compile(rb"([0-7]{5,6}) ([^\0]+)\0(.{%d})" % size, re.DOTALL) for size in (20, 32)
}

Load = Callable[[TreeId], bytes]
"""Gives a tree's raw bytes or raises `MissingObject`."""


class Node(NamedTuple):
    """One line of a tree object. A tuple: a large tree has as many as it has files."""

    name: bytes
    mode: int
    oid: str

    @property
    def is_tree(self) -> bool:
        return self.mode == TREE_MODE


def parse_tree(tree: TreeId, data: bytes) -> list[Node]:
    """The lines of a tree object in its own order; `MissingObject` (corrupt) when malformed."""
    size = len(tree) // 2
    nodes: dict[bytes, Node] = {}
    end = 0
    for match in _ENTRY[size].finditer(data):
        if match.start() != end:
            break
        end = match.end()
        mode, name, oid = match.groups()
        if _can_be_checked_out(name):
            nodes.setdefault(name, Node(name, _canonical_mode(mode), oid.hex()))
    if end != len(data):
        raise MissingObject(tree, Absence.CORRUPT)
    return list(nodes.values())


@cache
def _canonical_mode(octal: bytes) -> int:
    """As Git compares modes: old commits hold 100664, which means 100644."""
    mode = int(octal, 8)
    if stat.S_ISREG(mode):
        return EXECUTABLE if mode & stat.S_IXUSR else REGULAR
    kind = stat.S_IFMT(mode)
    return kind if kind in {TREE_MODE, SYMLINK} else SUBMODULE


def _can_be_checked_out(name: bytes) -> bool:
    return b"/" not in name and (name[:1] != b"." or name.lower() not in {b".", b"..", b".git"})


def walk(load: Load, tree: TreeId, prefix: bytes = b"") -> Iterator[TreeEntry]:
    """Everything below `tree` but the folders, in the order of paths; `prefix` ends with a slash."""
    stack = [(prefix, TREE_MODE, str(tree))]
    seen = 0
    while stack:
        path, mode, oid = stack.pop()
        if mode != TREE_MODE:
            yield TreeEntry(RepoPath(path), mode, BlobId(oid))
            continue
        children = _load(load, oid)
        seen += len(children) + 1
        if seen > MAX_NODES:
            raise Unsupported(f"tree {tree} has more than {MAX_NODES:,} files and folders")
        below = [
            (path + name + b"/" if mode == TREE_MODE else path + name, mode, oid)
            for name, mode, oid in children
        ]
        below.sort(reverse=True)
        stack += below


def _load(load: Load, oid: str) -> list[Node]:
    if oid in EMPTY_TREES:
        return []
    tree = TreeId(oid)
    return parse_tree(tree, load(tree))


def find(load: Load, tree: TreeId, path: RepoPath) -> TreeEntry | None:
    """The entry at `path`, `None` when nothing or a folder is there."""
    oid: str = tree
    *folders, last = path.split(b"/")
    for folder in folders:
        node = _child(load, oid, folder)
        if node is None or not node.is_tree:
            return None
        oid = node.oid
    node = _child(load, oid, last)
    if node is None or node.is_tree:
        return None
    return TreeEntry(path, node.mode, BlobId(node.oid))


def _child(load: Load, oid: str, name: bytes) -> Node | None:
    return next((node for node in _load(load, oid) if node.name == name), None)


def compare(load: Load, old: TreeId, new: TreeId, *, renames: bool) -> ChangeSet:
    """The change set that leads from `old` to `new`."""
    added: list[TreeEntry] = []
    deleted: list[TreeEntry] = []
    modified: list[tuple[TreeEntry, TreeEntry]] = []
    stack: list[tuple[bytes, str, str]] = [(b"", old, new)]
    while stack:
        prefix, old_oid, new_oid = stack.pop()
        if old_oid == new_oid:
            continue
        before = {node.name: node for node in _load(load, old_oid)}
        after = {node.name: node for node in _load(load, new_oid)}
        for name in before.keys() | after.keys():
            was, now = before.get(name), after.get(name)
            if was == now:
                continue
            path = prefix + name
            if was is not None and now is not None and not was.is_tree and not now.is_tree:
                modified.append((_entry(path, was), _entry(path, now)))
                continue
            if was is not None and now is not None and was.is_tree and now.is_tree:
                stack.append((path + b"/", was.oid, now.oid))
                continue
            deleted.extend(_everything(load, path, was))
            added.extend(_everything(load, path, now))
    renamed = pair_equal_blobs(deleted, added) if renames else []
    taken = {old.path for old, _ in renamed}
    given = {new.path for _, new in renamed}
    return ChangeSet(
        added=tuple(sorted(each for each in added if each.path not in given)),
        deleted=tuple(sorted(each for each in deleted if each.path not in taken)),
        modified=tuple(sorted(modified)),
        renamed=tuple(sorted(renamed, key=lambda pair: pair[1])),
    )


def _entry(path: bytes, node: Node) -> TreeEntry:
    return TreeEntry(RepoPath(path), node.mode, BlobId(node.oid))


def _everything(load: Load, path: bytes, node: Node | None) -> Iterator[TreeEntry]:
    if node is None:
        return
    if node.is_tree:
        yield from walk(load, TreeId(node.oid), path + b"/")
    else:
        yield _entry(path, node)


def pair_equal_blobs(
    deleted: list[TreeEntry], added: list[TreeEntry]
) -> list[tuple[TreeEntry, TreeEntry]]:
    """Pair deleted and added entries of the same blob and kind of file.

    Where several could pair, those of the same file name do first, then the rest, each in the order
    of paths. So the result depends on the two lists' content alone.
    """
    sources: defaultdict[tuple[BlobId, int], list[TreeEntry]] = defaultdict(list)
    for old in sorted(deleted):
        sources[_identity(old)].append(old)
    pairs: list[tuple[TreeEntry, TreeEntry]] = []
    left: list[TreeEntry] = []
    for new in sorted(added):
        candidates = sources.get(_identity(new), [])
        same_name = next((old for old in candidates if _basename(old) == _basename(new)), None)
        if same_name is None:
            left.append(new)
            continue
        candidates.remove(same_name)
        pairs.append((same_name, new))
    for new in left:
        candidates = sources.get(_identity(new), [])
        if candidates:
            pairs.append((candidates.pop(0), new))
    return pairs


def _identity(entry: TreeEntry) -> tuple[BlobId, int]:
    return entry.blob, entry.mode & 0o170000


def _basename(entry: TreeEntry) -> bytes:
    return entry.path.rpartition(b"/")[2]
