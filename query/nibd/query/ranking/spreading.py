"""Evidence that good files give to those around them: what they import, what imports them, their folder.

What a file has of its own (`evidence`), less its penalties, is its *strength*; files start from the
strongest, each in the measure of its strength. Nothing here looks at what a file says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import sqrt

import numpy as np

from nibd.query.ranking import weights
from nibd.query.ranking.candidates import Tree
from nibd.query.ranking.counts import File
from nibd.query.ranking.evidence import Evidence, Found, of_files
from nibd.query.ranking.groups import Floats
from nibd.query.ranking.imports import imported_files
from nibd.query.ranking.outline import import_name
from nibd.stores.types import RepoPath


def spread(tree: Tree, files: Sequence[File], strength: Floats) -> Found:
    """`strength` is by file; those of 0 and below give nothing."""
    imported, importer = _along_imports(tree, files, strength)
    return {
        Evidence.IMPORTED: imported,
        Evidence.IMPORTER: importer,
        Evidence.FOLDER: _in_folder(tree, files, strength),
    }


def best_first(values: Floats, count: int) -> list[int]:
    """The places of the greatest values above 0; equal ones in the order in which they stand."""
    return [int(at) for at in np.argsort(-values, kind="stable")[:count] if values[at] > 0]


def _along_imports(tree: Tree, files: Sequence[File], strong: Floats) -> tuple[Floats, Floats]:
    """What the best files import, and what imports them.

    The first: strength / sqrt(their imports + 1), over sqrt(importers + 2); the second the other way round.
    How many files import one is told by how many have an import with its import name.
    """
    targets = [_targets(tree, file) for file in files]
    importers = np.array([tree.outline.importing.get(import_name(file.path), 0) for file in files], float)
    imported: defaultdict[RepoPath, float] = defaultdict(float)
    importing: dict[RepoPath, float] = {}
    for at in best_first(strong, weights.IMPORTS_FROM):
        importing[files[at].path] = float(strong[at] / np.sqrt(importers[at] + 1))
        for target in targets[at]:
            imported[target] += float(strong[at]) / sqrt(len(targets[at]) + 1)
    down = of_files(files, imported) / np.sqrt(importers + 2)
    up = [
        sum([importing[each] for each in found if each in importing]) / sqrt(len(found) + 2)
        for found in targets
    ]
    return down, np.array(up, float)


def _targets(tree: Tree, file: File) -> list[RepoPath]:
    known = tree.outline.targets.get(file.path)
    if known is not None:
        return known
    modules = tree.outline.modules.get(file.path, ())
    found = imported_files(file.path, file.language, modules, tree.outline)
    tree.outline.remember(file.path, found)
    return found


def _in_folder(tree: Tree, files: Sequence[File], scores: Floats) -> Floats:
    """Per file: what the other hot files of its folder score, over the square root of the folder's files."""
    hot = {at: float(scores[at]) for at in best_first(scores, weights.FOLDER_FROM)}
    folders = [file.path.rpartition(b"/")[0] for file in files]
    sums: defaultdict[bytes, float] = defaultdict(float)
    for at in sorted(hot):
        sums[folders[at]] += hot[at]
    return np.array(
        [
            (sums[folder] - hot.get(at, 0.0)) / sqrt(max(1, len(tree.outline.by_folder.get(folder, ()))))
            if folder in sums else 0.0
            for at, folder in enumerate(folders)
        ],
        float,
    )  # fmt: skip
