"""What is in a private tree and nobody recorded: put there by a person or a program."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator

from nibd.repair.private_tree.disk import folders_of
from nibd.repair.private_tree.names import above
from nibd.stores.types import RepoPath


def strays(
    found: Iterable[tuple[RepoPath, os.stat_result]],
    known: Collection[RepoPath],
    scratch: Collection[RepoPath],
) -> Iterator[RepoPath]:
    """Of what was found (folders before what they hold), that which is not known.

    Of a folder that is not known the folder alone is named. What stands as a file or symlink where
    a known folder should be is named too.
    """
    folders = {*folders_of(known), *folders_of(scratch), *scratch}
    unknown: set[bytes] = set()
    for path, status in found:
        holders = above(path)
        if any(holder in scratch or holder in unknown for holder in holders):
            continue
        is_folder = stat.S_ISDIR(status.st_mode)
        if path in folders if is_folder else path in known:
            continue
        if is_folder and path in known:  # a submodule's, or a placed one; or a file's place taken
            continue
        unknown.add(path)
        yield path
