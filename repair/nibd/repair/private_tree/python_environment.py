"""A Python environment in a checkout: found and read, never run.

The interpreter is a setting for a language server that reads the environment's files. What `pyvenv.cfg`
and the folders say is enough to know the version and what is installed.

An editable install leads from the environment back into the checkout, where the user's edits are. Each
is found in the file that the installer left (`.pth` lines, `.egg-link`, the mapping in setuptools'
`__editable___*_finder.py`, which is parsed, not imported), and named as a search path in the private
tree. A server that reads `.pth` files itself must get these before what it finds there.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nibd.repair.private_tree.installed import STALE_S, Checkout, Findings, entries, mtime_s, read_text

NAMES = (".venv", "venv")
_NO_PATH = ("#", "import ", "import\t")
"""How those lines of a .pth file begin that are no path. Python runs the imports; nobody does here."""


@dataclass(frozen=True, slots=True)
class PythonEnvironment:
    """`version` as pyvenv.cfg has it, such as 3.11.2; `interpreter` may not exist.

    `search_paths` are the folders of editable installs, in the private tree.
    """

    folder: Path
    interpreter: Path
    version: str | None
    site_packages: tuple[Path, ...]
    search_paths: tuple[Path, ...]


def find_python(checkout: Checkout, findings: Findings) -> PythonEnvironment | None:
    """The environment in the checkout's top folder, if there is one that is not of the tree."""
    for name in NAMES:
        folder = checkout.path / name
        findings.watch(folder / "pyvenv.cfg")
        configuration = read_text(folder / "pyvenv.cfg")
        if configuration is None:
            continue
        if checkout.is_tracked(name):
            findings.notes.append(f"{name} is not used: it is in the repository, not an install")
            continue
        return _read(checkout, folder, configuration, findings)
    return None


def _read(checkout: Checkout, folder: Path, data: bytes, findings: Findings) -> PythonEnvironment:
    lines = (line.partition("=") for line in data.decode("utf-8", "replace").splitlines())
    settings = {key.strip().lower(): value.strip() for key, _, value in lines}
    sites = tuple(_site_packages(folder))
    findings.identify("python", folder, data)
    targets: list[Path] = []
    for site in sites:
        findings.watch(site)
        _identify(site, findings)
        _watch(site, findings)
        targets += _editable(site)
    return PythonEnvironment(
        folder,
        folder / "bin" / "python",
        settings.get("version") or settings.get("version_info"),
        sites,
        _rewritten(checkout, folder, targets, findings),
    )


def _site_packages(folder: Path) -> Iterator[Path]:
    seen: set[Path] = set()
    for library in ("lib", "lib64"):
        for entry in entries(folder / library):
            site = folder / library / entry.name / "site-packages"
            if entry.name.startswith("python") and site.is_dir() and site.resolve() not in seen:
                seen.add(site.resolve())
                yield site


def _identify(site: Path, findings: Findings) -> None:
    """By names, and by size and time of single files and of what an installer wrote.

    Not by the time of a package's folder: Python changes it when it first imports the package.
    """
    for entry in entries(site):
        if entry.name == "__pycache__":
            continue
        findings.identify(entry.name)
        record = site / entry.name / "RECORD" if entry.name.endswith(".dist-info") else site / entry.name
        if not record.is_dir() and (status := _status(record)) is not None:
            findings.identify(status.st_size, status.st_mtime_ns)


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _watch(site: Path, findings: Findings) -> None:
    changed = mtime_s(site)
    if changed is None:
        return
    if any(entry.name.startswith("~") for entry in entries(site)):
        findings.wait(f"pip has packages set aside in {site}", changed, STALE_S)
    findings.wait(f"{site} has just changed", changed)


def _editable(site: Path) -> Iterator[Path]:
    for entry in entries(site):
        name, path = entry.name, site / entry.name
        if not name.endswith((".pth", ".egg-link")) and not name.startswith("__editable___"):
            continue
        text = (read_text(path) or b"").decode("utf-8", "surrogateescape")
        if name.endswith(".pth"):
            lines = (line.strip() for line in text.splitlines())
            yield from (site / line for line in lines if line and not line.startswith(_NO_PATH))
        elif name.endswith(".egg-link"):
            yield from (site / line.strip() for line in text.splitlines()[:1])
        elif name.endswith("_finder.py"):
            yield from _mapped(text)


def _mapped(text: str) -> Iterator[Path]:
    """The search paths that setuptools' finder stands for: MAPPING = {'pkg': '/checkout/src/pkg'}."""
    try:
        statements = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return
    for statement in statements:
        value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
        targets = statement.targets if isinstance(statement, ast.Assign) else (
            [statement.target] if isinstance(statement, ast.AnnAssign) else []
        )
        if not isinstance(value, ast.Dict) or [ast.unparse(each) for each in targets] != ["MAPPING"]:
            continue
        for key, where in zip(value.keys, value.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(where, ast.Constant):
                continue
            package, path = str(key.value).split("."), Path(str(where.value))
            if path.parts[-len(package) :] == tuple(package):
                yield path.parents[len(package) - 1]


def _rewritten(
    checkout: Checkout, folder: Path, targets: list[Path], findings: Findings
) -> tuple[Path, ...]:
    environment = folder.resolve()
    found: dict[Path, None] = {}
    for target in (each for each in targets if "\0" not in str(each)):
        real = Path(os.path.realpath(target))
        if not checkout.holds(real) or real.is_relative_to(environment):
            continue
        inside = checkout.rewritten(real)
        if inside is None:
            findings.notes.append(f"an editable install of {real} is left out: it is not in the tree")
        else:
            found[inside] = None
    return tuple(found)
