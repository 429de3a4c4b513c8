"""`compile_commands.json` of a checkout, rewritten for the private tree.

Paths below the checkout become paths below the private tree's root, in every part of an entry; others
stay. A command line is split into its arguments first, so that no quoting is needed whatever the
paths are. What a build makes in the checkout (generated headers) is not in the private tree, so
what includes it is not resolved: it is nobody's committed code.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nibd.repair.private_tree.installed import Checkout, Findings, mtime_s, read_text
from nibd.repair.private_tree.types import Placement, PlacementKind
from nibd.stores.types import RepoPath

NAME = "compile_commands.json"
PLACES = (NAME, f"build/{NAME}")
MAX_BYTES = 256 << 20
_QUOTED = re.compile(r"[\"'\\]")
Rewrite = Callable[[str], str]


def find_compile_commands(checkout: Checkout, findings: Findings) -> dict[RepoPath, Placement]:
    """The rewritten file, and the folders that it names as working directories."""
    for place in PLACES:
        path = checkout.path / place
        findings.watch(path)
        if not path.is_file():
            continue
        if checkout.is_tracked(place):
            findings.notes.append(f"{place} is in the repository: it is used as it is there")
            return {}
        changed = mtime_s(path)
        if changed is not None:
            findings.wait(f"{path} has just changed", changed)
        placed = _rewritten(checkout, path, place, findings)
        if placed:
            return placed
    return {}


def _rewritten(checkout: Checkout, path: Path, place: str, findings: Findings) -> dict[RepoPath, Placement]:
    data = read_text(path, MAX_BYTES)
    if data is None:
        findings.notes.append(f"{place} is not used: it can't be read, or is larger than {MAX_BYTES} bytes")
        return {}
    rewrite = _rewriter(checkout)
    try:
        commands = [_entry(entry, rewrite) for entry in json.loads(data)]
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        findings.notes.append(f"{place} is not used: {error}")
        return {}
    text = json.dumps(commands, indent=0, sort_keys=True).encode()
    findings.identify("compile_commands", text)
    placed = {RepoPath(NAME.encode()): Placement(PlacementKind.FILE, text)}
    for directory in sorted({str(entry.get("directory", "")) for entry in commands}):
        inside = _inside(checkout.root, directory)
        if inside is not None and inside not in checkout.folders:
            placed[inside] = Placement(PlacementKind.FOLDER)
    return placed


def _rewriter(checkout: Checkout) -> Rewrite:
    """Replaces the checkout's path where a path begins: at the start, after an option or a separator."""
    names = sorted({str(checkout.path), str(checkout.real)}, key=len, reverse=True)
    prefix = "|".join(re.escape(name) for name in names)
    pattern = re.compile(rf"(^|^-[A-Za-z]+|[=,:;@])(?:{prefix})(?=/|$|[,:;])")
    root = str(checkout.root)
    return lambda text: pattern.sub(lambda match: match[1] + root, text)


def _entry(entry: dict[str, Any], rewrite: Rewrite) -> dict[str, Any]:
    made: dict[str, Any] = {
        key: rewrite(os.path.normpath(value) if key == "directory" else value)
        for key, value in entry.items()
        if key in {"directory", "file", "output"} and isinstance(value, str)
    }
    if isinstance(entry.get("arguments"), list):
        made["arguments"] = [rewrite(str(each)) for each in entry["arguments"]]
        return made
    command = str(entry.get("command", ""))
    # Splitting by the shell's rules is slow, and few commands need them.
    words = shlex.split(command) if _QUOTED.search(command) else command.split()
    made["arguments"] = [rewrite(word) for word in words]
    return made


def _inside(root: Path, directory: str) -> RepoPath | None:
    path = Path(directory)
    if not path.is_absolute() or not path.is_relative_to(root) or path == root:
        return None
    return RepoPath(bytes(path.relative_to(root)))
