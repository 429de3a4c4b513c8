"""What can be said of one hook, and the one error of this package.

HooksError
    The checkout can't be asked at all (not a work tree, bare, gone, owned by someone else, no Git), or
    the marker can't be written into a script. What concerns one hook file is never raised: it is that
    hook's report.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

HOOK_NAMES = ("post-commit", "post-checkout", "post-merge", "post-rewrite", "post-applypatch")
"""None of them can abort the user's command; `pre-*` and `reference-transaction` can, and stay untouched."""


class HooksError(Exception):
    """Nothing could be done for this checkout; the message says why."""


class Outcome(StrEnum):
    """What was done about a hook, or (by `inspect`) what is there."""

    INSTALLED = "installed"
    """A hook file of nibd's own."""
    CHAINED = "chained"
    """nibd's block in an existing hook; both run."""
    UPDATED = "updated"
    """The block was there with other content, such as an older marker, and was replaced in its place."""
    UNCHANGED = "unchanged"
    """Nothing had to be written."""
    LEFT_ALONE = "left_alone"
    """Not touched, for the reason given; commits are then noticed by the watch on the Git directory."""
    REMOVED = "removed"
    """nibd's own file is gone, or only its block was taken out of a file edited since."""
    RESTORED = "restored"
    """The file is again what it was before, byte for byte."""
    ABSENT = "absent"
    """Nothing of nibd's is there."""
    OUTDATED = "outdated"
    """By `inspect`: a block is there that `install` would replace."""
    FAILED = "failed"
    """The operating system refused, for the reason given; the file is as it was."""


@dataclass(frozen=True, slots=True)
class HookReport:
    """One hook: its name, the file it is or would be, what was done, and why when that needs saying."""

    name: str
    path: Path
    outcome: Outcome
    reason: str = ""
