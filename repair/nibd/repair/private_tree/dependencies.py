"""Dependencies that live untracked in a checkout: found there, and made known to the servers.

    found = find_dependencies(checkout, listing, root)
    if found.in_progress: wait and look again
    tree.place(found.placements); found.python, found.search_paths -> the servers' settings

No target may come from uncommitted code. So what leads back from an environment into the checkout is
rewritten into the private tree, or left out and said in `notes`. Servers find more than is known here
(a link inside an installed package, a `.pth` file that they read themselves): whoever asks them also asks
`is_uncommitted` of each target outside the private tree and drops it if so.

Nothing that is found is run. What is part of the tree is no dependency: the tree has it already.
Go's and Cargo's modules are outside the checkout: the caller says in which caches. A `replace ../` that
leaves the repository leads nowhere from a private tree.

Lock files of the tree are input, not identity: they say what should be installed. Identity is what is
installed, with the package managers' own record of it, so switching branches without installing
changes nothing (but which modules of a shared cache count is for the tree to say).
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nibd.repair.private_tree.compile_commands import find_compile_commands
from nibd.repair.private_tree.installed import Checkout, Findings, Listing
from nibd.repair.private_tree.module_caches import ModuleCaches, ReadFile, find_crates, find_go_modules
from nibd.repair.private_tree.node_modules import FOLDER, find_node_modules
from nibd.repair.private_tree.python_environment import PythonEnvironment, find_python
from nibd.repair.private_tree.types import Placement
from nibd.stores.types import RepoPath

NO_CACHES = ModuleCaches()


@dataclass(frozen=True, slots=True)
class Part:
    """What one family of languages has installed. `identity` is part of its profile.

    `in_progress` says why an install seems to be running: wait until it is `None`. `notes` are
    sentences on what is left out. `watched` gives the stamps (`installed.stamp`) of the paths of which one
    changes with every ordinary install: when none has changed there is no need to look again.
    """

    identity: str = ""
    in_progress: str | None = None
    notes: tuple[str, ...] = ()
    watched: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, findings: Findings) -> Part:
        digest = findings.digest.hexdigest()
        return cls(digest, findings.in_progress, tuple(findings.notes), findings.watched)


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What a checkout has installed, in parts by family. Equal identities mean equal answers."""

    checkout: Path
    python: PythonEnvironment | None
    placements: Mapping[RepoPath, Placement]
    go_modules: Path | None
    cargo_home: Path | None
    parts: Mapping[str, Part]

    @property
    def identity(self) -> str:
        """Of all parts."""
        joined = "\0".join(part.identity for _, part in sorted(self.parts.items()))
        return hashlib.blake2b(joined.encode(), digest_size=16).hexdigest()

    @property
    def in_progress(self) -> str | None:
        """Of the first part where an install seems to run."""
        return next((part.in_progress for part in self.parts.values() if part.in_progress), None)

    @property
    def notes(self) -> tuple[str, ...]:
        """Of all parts."""
        return tuple(note for part in self.parts.values() for note in part.notes)

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
    checkout: Path,
    listing: Listing,
    root: Path,
    now_s: float | None = None,
    caches: ModuleCaches = NO_CACHES,
    read: ReadFile = lambda _: None,
) -> Dependencies:
    """Look for what is installed in `checkout`, as the private tree at `root` is to see it.

    `listing` gives every path of the tree that the private tree holds, `read` a file of it.
    """
    where = Checkout.of(checkout, root, listing)
    now = time.time() if now_s is None else now_s
    findings = {family: Findings(now) for family in ("python", "javascript", "go", "rust", "c")}
    python = find_python(where, findings["python"])
    findings["python"].identify(*(str(path) for path in (python.search_paths if python else ())))
    packages = find_node_modules(where, findings["javascript"])
    commands = find_compile_commands(where, findings["c"])
    return Dependencies(
        where.real,
        python,
        packages | commands,
        find_go_modules(where, caches, read, findings["go"]),
        find_crates(where, caches, read, findings["rust"]),
        {family: Part.of(found) for family, found in findings.items()},
    )
