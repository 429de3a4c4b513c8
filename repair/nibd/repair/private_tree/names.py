"""Which names and symlinks of an untrusted tree may be made on disk. Pure functions of bytes.

A symlink is made only when no way of following it can leave the tree. The kernel follows link by
link, so `a/..` need not be where `a` is: a target may go up only at its beginning, from the folder
that the link is in, which is a real folder of the tree, and then down. By induction over the links
that are met on the way down, every step then stays inside.

A link to a folder that holds the link itself is left out too: two of them are 2^40 paths to a server
that follows links.
"""

from __future__ import annotations

from nibd.stores.types import RepoPath

MAX_NAME_BYTES = 255
MAX_PATH_BYTES = 4095
MAX_DEPTH = 128
"""Folders above a file. Nobody has more, and what walks a tree recursively ends somewhere."""
_REFUSED = frozenset({b"", b".", b"..", b".git"})


def is_safe(path: RepoPath, root_bytes: int) -> bool:
    """Whether `path` may be made below a root whose own path has `root_bytes` bytes."""
    parts = path.split(b"/")
    return (
        path.find(b"\0") < 0
        and root_bytes + 1 + len(path) <= MAX_PATH_BYTES
        and len(parts) <= MAX_DEPTH
        and all(part.lower() not in _REFUSED and len(part) <= MAX_NAME_BYTES for part in parts)
    )


def stays_inside(link: RepoPath, target: bytes) -> bool:
    """Whether a symlink at `link` with this target leads nowhere but into its own tree."""
    if not target or target.startswith(b"/") or b"\0" in target or len(target) > MAX_PATH_BYTES:
        return False
    parts = [part for part in target.split(b"/") if part not in {b"", b"."}]
    folder = link.split(b"/")[:-1]
    up = 0
    while up < len(parts) and parts[up] == b"..":
        up += 1
    down = parts[up:]
    if up > len(folder) or b".." in down:
        return False
    arrived = folder[: len(folder) - up] + down
    return arrived != folder[: len(arrived)]


def above(path: bytes) -> list[bytes]:
    """The folders that hold `path`, outermost first."""
    parts = path.split(b"/")
    return [b"/".join(parts[:end]) for end in range(1, len(parts))]
