"""Dependencies that live untracked in a checkout: found there, and made known to the servers.

    found = find_dependencies(checkout, listing, root)
    if found.in_progress: wait and look again
    tree.place(found.placements); found.python, found.search_paths -> the servers' settings

No target may come from uncommitted code. So what leads back from an environment into the checkout is
rewritten into the private tree, or left out and said in `notes`. Servers find more than is known here
(a link inside an installed package, a `.pth` file that they read themselves): a driver asks
`is_uncommitted` of each target outside the private tree and drops it if so.

Nothing that is found is run. What is part of the tree is no dependency: the tree has it already.
Go's and Cargo's modules are outside the checkout and need no help; a `replace ../` that leaves the
repository leads nowhere from a private tree.

Lock files of the tree are input, not identity: they say what should be installed. Identity is what is
installed, with the package managers' own record of it, so switching branches without installing
changes nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nibd.repair.private_tree.compile_commands import find_compile_commands
from nibd.repair.private_tree.installed import Checkout, Findings, Listing
from nibd.repair.private_tree.node_modules import FOLDER, find_node_modules
from nibd.repair.private_tree.python_environment import PythonEnvironment, find_python
from nibd.repair.private_tree.types import Placement
from nibd.stores.types import RepoPath


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What a checkout has installed. `identity` is part of a profile; equal ones mean equal answers.

    `in_progress` says why an install seems to be running: wait until it is `None`. `notes` are
    sentences on what is left out.
    """

    checkout: Path
    python: PythonEnvironment | None
    placements: Mapping[RepoPath, Placement]
    notes: tuple[str, ...]
    identity: str
    in_progress: str | None

    @property
    def search_paths(self) -> tuple[Path, ...]:
        """Folders in the private tree where Python's editable installs have their modules."""
        return self.python.search_paths if self.python else ()

    def is_uncommitted(self, path: Path) -> bool:
        """Whether a file is in the checkout and not part of an install there."""
        real = Path(os.path.realpath(path))
        if not real.is_relative_to(self.checkout):
            return False
        if FOLDER in real.relative_to(self.checkout).parts:
            return False
        return self.python is None or not real.is_relative_to(self.python.folder.resolve())


def find_dependencies(
    checkout: Path, listing: Listing, root: Path, now_s: float | None = None
) -> Dependencies:
    """Look for what is installed in `checkout`, as the private tree at `root` is to see it.

    `listing` gives every path of the tree that the private tree holds.
    """
    where = Checkout.of(checkout, root, listing)
    findings = Findings(time.time() if now_s is None else now_s)
    python = find_python(where, findings)
    placements = find_node_modules(where, findings) | find_compile_commands(where, findings)
    findings.identify(*(str(path) for path in (python.search_paths if python else ())))
    return Dependencies(
        where.real,
        python,
        placements,
        tuple(findings.notes),
        findings.digest.hexdigest(),
        findings.in_progress,
    )
