"""What in a text decides whether a server builds a file, a module or a unit of it.

Where that changed, what is concerned counts as another: all of its sites are asked, and all that refer to it,
though no line with its name changed. Whether it is built now, the server says.

- Go: constraints before the package clause, the package's name, and whether cgo is used. Names of files
  decide too, and a file of another name is another file.
- Rust: `#[cfg(…)]` before an item, `#![cfg(…)]` of a file, and the line `mod name;` that has a file read,
  with what `#[cfg(…)]` and `#[path = …]` stand before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from nibd.repair.relations.source_file import Key, SourceFile
from nibd.repair.servers.gopls import conditions
from nibd.stores.types import RepoPath

_CFG = re.compile(r"^\s*#\[\s*cfg\b.*", re.MULTILINE)
_INNER_CFG = re.compile(r"^\s*#!\[\s*cfg\b.*", re.MULTILINE)
_ATTRIBUTE = re.compile(r"#\[\s*(?:cfg|path)\b[^\n]*?\]")
_MODULE = re.compile(
    r"^((?:[ \t]*(?:#\[|//)[^\n]*\n)*(?:[ \t]*#\[[^\n]*\])?)"
    r"[ \t]*(?:pub(?:\([^)\n]*\))?[ \t]+)?mod[ \t]+(\w+)[ \t]*;",
    re.MULTILINE,
)
_DECLARED = re.compile(rb"\bmod[ \t]+\w+[ \t]*;")
"""Most files declare no module, and to find that by the whole pattern takes long."""
_ROOTS = ("mod.rs", "lib.rs", "main.rs")


def switched(old: SourceFile, new: SourceFile) -> frozenset[Key]:
    """The units of either version that other conditions decide than before."""
    if _of_file(old) != _of_file(new):
        return frozenset((*old.keys, *new.keys))
    if new.language != "rust":
        return frozenset()
    both = old.ordinals.keys() & new.ordinals.keys()
    found = {key for key in both if _of_unit(old, key) != _of_unit(new, key)}
    return frozenset(key for file in (old, new) for key in _within(file, found)) if found else frozenset()


def switched_modules(old: SourceFile | None, new: SourceFile | None) -> frozenset[RepoPath]:
    """Files, and folders (ending in `/`), of the modules that `new` declares by other lines than `old`."""
    modules = [_modules(file) for file in (old, new)]
    names = {name for name, _ in modules[0].items() ^ modules[1].items()}
    file = new or old
    return frozenset(path for name in names for path in _places(file.path, name)) if file else frozenset()


def _of_file(file: SourceFile) -> tuple[str, ...]:
    if file.language == "go":
        return conditions(_text(file))
    if file.language == "rust":
        return tuple(_INNER_CFG.findall(_text(file)))
    return ()


def _of_unit(file: SourceFile, key: Key) -> list[str]:
    """A file's own text has the attributes of what is no unit; they stay as they are with their lines."""
    unit = file.units[file.ordinals[key]]
    if unit.parent is None:
        return []
    lines = file.own_texts[key].splitlines()[: unit.header_end_line - unit.start_line + 1]
    return _CFG.findall("\n".join(lines))


def _within(file: SourceFile, keys: set[Key]) -> Iterator[Key]:
    """Those of `keys` that the file has, and the units inside them."""
    inside: set[int] = set()
    for ordinal, (key, unit) in enumerate(zip(file.keys, file.units, strict=True)):
        if key in keys or unit.parent in inside:
            inside.add(ordinal)
            yield key


def _modules(file: SourceFile | None) -> Mapping[str, tuple[str, ...]]:
    """What stands before the lines that declare a module in a file of its own, by the module's name."""
    if file is None or file.language != "rust" or not _DECLARED.search(file.content):
        return {}
    return {found[2]: tuple(_ATTRIBUTE.findall(found[1])) for found in _MODULE.finditer(_text(file))}


def _places(path: RepoPath, name: str) -> Iterator[RepoPath]:
    """Where a module is looked for that the file at `path` declares."""
    folder, _, file = path.decode("utf-8", "surrogateescape").rpartition("/")
    parts = [folder, "" if file in _ROOTS else file.removesuffix(".rs"), name]
    module = "/".join(filter(None, parts))
    for place in (f"{module}.rs", f"{module}/"):
        yield RepoPath(place.encode("utf-8", "surrogateescape"))


def _text(file: SourceFile) -> str:
    return file.content.decode("utf-8", "replace")
