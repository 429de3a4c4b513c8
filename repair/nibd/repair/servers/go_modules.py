"""Go modules that can be loaded offline, by the Go that is installed.

go loads nothing at all of a module when its `go` directive wants a newer Go, or when one of the modules that
it requires is not on this machine. So copies of the tree's go.mod and go.work files take their place where
that is needed (`-overlay`): with a lower directive, without what is absent, and where even that can't be
loaded, without any requirement. The copies lie in the cache, named by what is in them, and are removed when
others take their place; the tree's files stay what they are. Imports of what was left out lead nowhere,
everything else is answered.

A *workspace* here is a folder in which go is run: that of a go.mod, or that of a go.work for all that it
uses. What is vendored keeps its requirements, which have to fit the vendor folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nibd.repair.servers.command import run
from nibd.repair.servers.go_mod_text import Statement, asked_version, copy, is_newer, newest, statements

TIMEOUT_S = 60.0
"""For all that is tried out. Go takes milliseconds where all is well, some seconds for very many modules."""
MAX_TRIED = 24
"""So many workspaces are tried out, in that time; of more, what is absent is left out untried."""
NAMED = 5
"""So many modules are named in a limit."""
_PASSED_OVER = frozenset({"vendor", "node_modules", "testdata"})

_Copies = dict[Path, str]
_Files = Mapping[Path, Sequence[Statement]]


@dataclass(frozen=True, slots=True)
class Modules:
    """`overlay` is `None` where the tree's files can be loaded as they are. `limits` are for `status`."""

    overlay: Path | None = None
    limits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Workspace:
    """`files` are the go.mod files that go loads there, and the go.work if there is one."""

    folder: Path
    files: tuple[Path, ...]

    @property
    def is_vendored(self) -> bool:
        return (self.folder / "vendor" / "modules.txt").is_file()


@dataclass(frozen=True, slots=True)
class _Loaded:
    """With which copies a workspace can be loaded, and what they lack; `trouble` says why it can't be."""

    copies: _Copies
    left_out: Sequence[str] = ()
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class GoModules:
    """Of the tree at `root`. `env` is the environment that gopls will have; copies go to `folder`."""

    go: Path
    version: str
    """Of the Go that is installed: `1.24.4`."""
    root: Path
    folder: Path
    env: Mapping[str, str]
    interrupt: Callable[[], None] = lambda: None
    """Called while go runs; what it raises ends that."""

    def find(self, paths: Iterable[Path]) -> Modules:
        """What can be loaded of the tree's `module_files`, and what that lacks."""
        files = {path: tuple(statements(_text(path))) for path in paths}
        newer = {path: found for path, found in files.items() if is_newer(asked_version(found), self.version)}
        copies = {path: copy(found, self.version, ()) for path, found in newer.items()}
        limits = [_too_new(newer.values(), self.version)] if newer else []
        left_out: dict[str, None] = {}
        deadline = time.monotonic() + TIMEOUT_S
        for number, workspace in enumerate(_workspaces(self.root, files)):
            is_tried = number < MAX_TRIED and time.monotonic() < deadline
            loaded = self._loaded(workspace, files, copies, deadline if is_tried else None)
            copies |= loaded.copies
            left_out |= dict.fromkeys(loaded.left_out)
            limits += [loaded.trouble] if loaded.trouble else []
        if left_out:
            names = _listed(list(left_out))
            limits.append(f"modules that are not on this machine: {names} (go mod download)")
        overlay = self._overlay(copies) if copies else None
        self._remove_all_but(overlay)
        return Modules(overlay, tuple(limits))

    def _loaded(
        self, workspace: _Workspace, files: _Files, copies: _Copies, deadline: float | None
    ) -> _Loaded:
        """`copies` are those of files that ask for a newer Go. Nothing is tried out without a deadline."""
        own = {path: files[path] for path in workspace.files}
        main = {each.module for found in own.values() for each in found if each.verb == "module"}
        requires = [each for found in own.values() for each in found if each.verb == "require"]
        every = [each.module for each in sorted(requires, key=lambda each: each.is_indirect)]
        absent = [] if workspace.is_vendored else self._absent(own, [*dict.fromkeys(every)])
        # `go mod graph` looks even for modules that the workspace has itself
        lean = [module for module in every if module in {*absent, *main}]
        attempts = [[], *([lean] if lean else []), every]
        trouble = ""
        for dropped in attempts[:1] if workspace.is_vendored else attempts if deadline else [lean]:
            made = {path: copy(found, self.version, dropped) for path, found in own.items()}
            made = made if dropped else {}
            trouble = self._trouble(workspace, copies | made, deadline) if deadline else ""
            if not trouble:
                return _Loaded(made, [module for module in dict.fromkeys(dropped) if module not in main])
        place = workspace.folder.relative_to(self.root).as_posix()
        fix = "go mod vendor" if workspace.is_vendored else "go mod tidy"
        return _Loaded({}, (), f"go can't load the modules of {place!r}: {trouble} (try: {fix})")

    def _absent(self, own: _Files, required: Sequence[str]) -> list[str]:
        """Required modules that can't be had: neither cached nor put in place by a folder."""
        versions, instead, main = dict[str, str](), dict[str, tuple[Path, str, str]](), set[str]()
        for path, found in own.items():
            for each in found:
                if each.verb == "require" and len(each.words) > 1:
                    versions[each.module] = each.words[1]
                elif each.verb == "replace":
                    instead[each.module] = (path.parent, *each.replacement())
                elif each.verb == "module":
                    main.add(each.module)
        absent = []
        for module in required:
            folder, other, version = instead.get(module, (self.root, module, versions.get(module, "")))
            cache = Path(self.env["GOMODCACHE"])
            is_there = (
                is_cached(cache, self.version, other, version) if version else _is_module(folder / other)
            )
            if not is_there and module not in main:
                absent.append(module)
        return absent

    def _trouble(self, workspace: _Workspace, copies: _Copies, deadline: float) -> str:
        """Why go can't load the workspace with these copies; empty when it can."""
        env = dict(self.env)
        if copies:
            env["GOFLAGS"] = f"{env.get('GOFLAGS', '')} {overlay_flag(self._overlay(copies))}".strip()
        # Not `list -m all`: it asks for the versions' dates, which a cache that was filled by building lacks
        command = ["list", "-m"] if workspace.is_vendored else ["mod", "graph"]
        argv = (str(self.go), *command)
        ended = run(argv, env, workspace.folder, deadline - time.monotonic(), self.interrupt)
        if ended is None:
            return f"go {' '.join(command)} took more than {TIMEOUT_S:g} s"
        if ended.status == 0:
            return ""
        lines = ended.stderr.splitlines()
        return " ".join(line.strip() for line in lines[:3])[:300] or f"go ended with {ended.status}"

    def _overlay(self, copies: _Copies) -> Path:
        """The file that tells go of the copies; equal copies have the same."""
        self.folder.mkdir(parents=True, exist_ok=True)
        replace = {str(path): str(self._written(text, ".mod")) for path, text in sorted(copies.items())}
        return self._written(json.dumps({"Replace": replace}), ".json")

    def _remove_all_but(self, overlay: Path | None) -> None:
        """Copies of earlier times and of what was tried out: who still reads them is outdated."""
        kept: set[Path] = set()
        if overlay is not None:
            kept = {overlay, *map(Path, json.loads(overlay.read_text())["Replace"].values())}
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            if path not in kept:
                path.unlink()

    def _written(self, text: str, suffix: str) -> Path:
        name = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        path = self.folder / (name + suffix)
        new = path.with_suffix(f"{suffix}.new")
        new.write_text(text)
        new.replace(path)  # a server that runs may be reading it
        return path


def is_cached(cache: Path, go: str, module: str, version: str) -> bool:
    """Whether a module's code is in the module cache, and a Go of this version can use it."""
    folder = cache / "cache" / "download" / _escaped(module) / "@v"
    if not (folder / f"{_escaped(version)}.zip").is_file():
        return False
    asked = asked_version(tuple(statements(_text(folder / f"{_escaped(version)}.mod"))))
    return not is_newer(asked, go)


def overlay_flag(overlay: Path) -> str:
    """As a word of GOFLAGS."""
    return f"'-overlay={overlay}'"


def module_files(root: Path) -> Iterator[Path]:
    """Those that go looks at: go.work at the top, and each go.mod."""
    if (root / "go.work").is_file():
        yield root / "go.work"
    for place, folders, names in os.walk(root):
        folders[:] = sorted(
            each for each in folders if each not in _PASSED_OVER and not each.startswith((".", "_"))
        )
        if "go.mod" in names and (Path(place) / "go.mod").is_file():
            yield Path(place, "go.mod")


def _workspaces(root: Path, files: _Files) -> Iterator[_Workspace]:
    work, used = root / "go.work", set[Path]()
    if work in files:
        folders = [Path(os.path.normpath(root / each.module)) for each in files[work] if each.verb == "use"]
        used = {folder / "go.mod" for folder in folders} & files.keys()
        yield _Workspace(root, (work, *sorted(used)))
    for path in files:
        if path != work and path not in used:
            yield _Workspace(path.parent, (path,))


def _is_module(folder: Path) -> bool:
    return (folder / "go.mod").is_file()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:  # a link that leads nowhere: go says so
        return ""


def _escaped(name: str) -> str:
    """As the module cache writes upper-case letters: `!` and the lower-case one."""
    return "".join(f"!{each.lower()}" if each.isupper() else each for each in name)


def _too_new(newer: Iterable[Sequence[Statement]], installed: str) -> str:
    asked = newest(map(asked_version, newer))
    return (
        f"go.mod asks for Go {asked}, Go {installed} is here: what is new since then is not understood "
        "(https://go.dev/dl)"
    )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
