"""The private tree: a work tree of nibd's own, on which language servers run.

It holds the files of exactly one Git tree, written from Git objects and never from a checkout, so the
user's edits, branch switches and build products don't mix in. It lies in nibd's own folder:

    FOLDER/work/      the root that servers are given
    FOLDER/aside/     files before they are renamed into place
    FOLDER/state.db   what was written, and the move under way

What is written: regular files as Git stores them (no filters, no line end conversion, no LFS), with
their executable bit, whatever their language, but sources decoded as units are (`as_read`); symlinks
that can't lead out of the tree; an empty folder for a submodule. The rest is left out for a reason and
counted (`LeftOut`). A file's time changes whenever its content was written, and never otherwise: some
servers compare times and sizes.

There is no `.git` inside, nor beside. A server that walks up from the root looking for a workspace or
settings meets `FOLDER` and nibd's folders above it, which hold none, and then the user's home, as it
would from a checkout there. No boundary file is put in its way: each server looks for others (a
`.clangd`, a `go.work`, a `Cargo.toml`), several of them merge what they find, and a made-up `.git` is
asked for a commit. So a driver shuts the way up by its server's own settings (`GOWORK=off` unless
the tree has a go.work, `-buildvcs=false`).

Nothing here runs anything that a repository or an environment holds.
"""

from __future__ import annotations

from nibd.repair.private_tree.dependencies import Dependencies, Part, find_dependencies
from nibd.repair.private_tree.errors import (
    NoRoom,
    NotWritable,
    PrivateTreeError,
    TreeGone,
    TreeInUse,
    TreeUnknown,
)
from nibd.repair.private_tree.installed import stamp
from nibd.repair.private_tree.module_caches import LOCK_FILES, ModuleCaches
from nibd.repair.private_tree.tree import PrivateTree
from nibd.repair.private_tree.types import LeftOut, Limits, Moved, Placement, PlacementKind

__all__ = [
    "LOCK_FILES",
    "Dependencies",
    "LeftOut",
    "Limits",
    "ModuleCaches",
    "Moved",
    "NoRoom",
    "NotWritable",
    "Part",
    "Placement",
    "PlacementKind",
    "PrivateTree",
    "PrivateTreeError",
    "TreeGone",
    "TreeInUse",
    "TreeUnknown",
    "find_dependencies",
    "stamp",
]
