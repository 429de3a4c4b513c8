"""A go.mod that can be loaded offline.

Where one required module is not on this machine, `go list` gives nothing at all for the whole main module.
So: as it is; else without the requirements that are not in the module cache; else without any. The reduced
copy lies in the cache (`-modfile`), named by its content, and the tree's go.mod stays what it is: imports of
the modules that were left out lead nowhere, everything else is answered.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Modules:
    """`modfile` is None where the tree's go.mod can be loaded as it is; `left_out` names modules."""

    modfile: Path | None = None
    left_out: tuple[str, ...] = ()


def loadable(go: Path, root: Path, folder: Path, env: Mapping[str, str]) -> Modules:
    """Find what can be loaded of the go.mod at `root`, with the environment that gopls will have."""
    if not (root / "go.mod").is_file() or _loads(go, root, env, None):
        return Modules()
    required = _required(go, root, env)
    cached = Path(env["GOMODCACHE"]) / "cache" / "download"
    absent = [module for module, version in required if not _is_cached(cached, module, version)]
    for left_out in ([absent] if absent else []) + [[module for module, _ in required]]:
        modfile = _without(go, root, folder, env, left_out)
        if modfile is not None and _loads(go, root, env, modfile):
            return Modules(modfile, tuple(left_out))
    return Modules()


def _loads(go: Path, root: Path, env: Mapping[str, str], modfile: Path | None) -> bool:
    option = [f"-modfile={modfile}"] if modfile else []
    # Not `list -m all`: that asks for the versions' dates, which a cache that was filled by building lacks.
    return _go(go, root, env, ["mod", "graph", *option]) is not None


def _required(go: Path, root: Path, env: Mapping[str, str]) -> list[tuple[str, str]]:
    printed = _go(go, root, env, ["mod", "edit", "-json"])
    entries = json.loads(printed).get("Require") or [] if printed else []
    return [(entry["Path"], entry["Version"]) for entry in entries]


def _is_cached(download: Path, module: str, version: str) -> bool:
    folder = download / _escaped(module) / "@v"
    return (folder / f"{_escaped(version)}.zip").is_file()


def _escaped(name: str) -> str:
    """As the module cache writes upper-case letters: `!` and the lower-case one."""
    return "".join(f"!{each.lower()}" if each.isupper() else each for each in name)


def _without(
    go: Path, root: Path, folder: Path, env: Mapping[str, str], modules: Sequence[str]
) -> Path | None:
    """The go.mod without the requirements of `modules`, in `folder`, its go.sum beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / "draft.mod"
    draft.write_bytes((root / "go.mod").read_bytes())
    drop = [f"-droprequire={module}" for module in modules]
    if _go(go, root, env, ["mod", "edit", *drop, str(draft)]) is None:
        return None
    sums = (root / "go.sum").read_bytes() if (root / "go.sum").is_file() else b""
    name = hashlib.blake2b(draft.read_bytes() + b"\0" + sums, digest_size=8).hexdigest()
    modfile = folder / f"{name}.mod"
    modfile.with_suffix(".sum").write_bytes(sums)
    return draft.rename(modfile)


def _go(go: Path, root: Path, env: Mapping[str, str], arguments: Sequence[str]) -> bytes | None:
    """What go prints; None when it fails or hangs."""
    try:
        done = subprocess.run(
            [go, *arguments],
            cwd=root,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 else None
