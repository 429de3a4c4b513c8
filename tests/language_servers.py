"""Real language servers for tests, and one small project in each family of languages.

Servers are looked for in the folder that NIBD_TEST_SERVERS names (by default `.venv/servers`, which
`tests/servers.sh` fills), beside the running interpreter, and along PATH. A test whose server can't be had is
skipped with the reason and the command that brings it.

    with Project(tmp_path, "python") as project:
        project.write("lib.py", "...")
        project.server.changed([], [b"lib.py"], [])
        assert project.ask("app.py", "greet", 1) == {("lib.py", 0, "greet")}
"""

from __future__ import annotations

import os
import pwd
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import pytest

from nibd.repair.servers import (
    Driver,
    Installed,
    Lines,
    Locations,
    Missing,
    Options,
    Request,
    Search,
    Settled,
    Unknown,
    driver_of_family,
    start_server,
)
from nibd.stores.types import RepoPath

PROJECT_ROOT = Path(__file__).resolve().parent.parent
SETTLE_S = 90.0
Target = tuple[str, int, str]
"""Path, line from 0, and the text of the range."""


def search(*forbidden: Path) -> Search:
    servers = Path(os.environ.get("NIBD_TEST_SERVERS", PROJECT_ROOT / ".venv" / "servers"))
    folders = (servers / "bin", servers / "npm" / "node_modules" / ".bin", Path(sys.executable).parent)
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)  # HOME is a temporary one, where rustup has nothing
    return Search(os.environ.get("PATH", ""), folders, forbidden, home)


def require(family: str) -> tuple[Driver, Installed]:
    """The family's driver and its server on this machine, or skip the test."""
    driver = driver_of_family(family)
    installed = driver.find(search())
    if isinstance(installed, Missing):
        pytest.skip(f"{installed.reason}; to install: {installed.install}")
    # the standard library's source, which no test needs, costs rust-analyzer 10 s
    tools = {name: tool for name, tool in installed.tools.items() if name != "sysroot_source"}
    return driver, replace(installed, tools=tools)


@dataclass(frozen=True, slots=True)
class Sample:
    """A project where `app` uses `greet` of `lib`, after non-ASCII text on the same line.

    `moved_lib` holds the same definition some lines further down.
    """

    app: str
    lib: str
    files: dict[str, str]
    moved_lib: str


SAMPLES = {
    "python": Sample(
        "app.py",
        "lib.py",
        {
            "lib.py": "def greet(name):\n    return name\n",
            "app.py": 'from lib import greet\n\nx = "é🙂"; greet(x)\n',
        },
        "# moved\n\n\ndef greet(name):\n    return name\n",
    ),
    "javascript": Sample(
        "app.ts",
        "lib.ts",
        {
            "tsconfig.json": '{"compilerOptions": {"strict": true, "module": "esnext", "types": []}}\n',
            "lib.ts": "export function greet(name: string) {\n  return name;\n}\n",
            "app.ts": 'import { greet } from "./lib";\n\nconst x = "é🙂"; greet(x);\n',
        },
        "// moved\n\n\nexport function greet(name: string) {\n  return name;\n}\n",
    ),
    "go": Sample(
        "app.go",
        "lib.go",
        {
            "go.mod": "module example.org/app\n\ngo 1.20\n",
            "lib.go": "package app\n\nfunc greet(name string) string { return name }\n",
            "app.go": 'package app\n\nfunc use() string { x := "é🙂"; return greet(x) }\n',
        },
        "package app\n\n// moved\n\nfunc greet(name string) string { return name }\n",
    ),
    "rust": Sample(
        "src/lib.rs",
        "src/greeting.rs",
        {
            "Cargo.toml": '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n',
            "src/greeting.rs": "pub fn greet(name: &str) -> &str {\n    name\n}\n",
            "src/lib.rs": 'mod greeting;\n\npub fn run() { let x = "é🙂"; greeting::greet(x); }\n',
        },
        "// moved\n\n\npub fn greet(name: &str) -> &str {\n    name\n}\n",
    ),
    "c": Sample(
        "app.c",
        "lib.h",
        {
            "lib.h": "static inline int greet(const char *name) { return name[0]; }\n",
            "app.c": '#include "lib.h"\n\nint run(void) { const char *x = "é🙂"; return greet(x); }\n',
        },
        "/* moved */\n\nstatic inline int greet(const char *name) { return name[0]; }\n",
    ),
}
FAMILIES = tuple(SAMPLES)


class Project:
    """A private tree in `folder` with a family's sample on it, and its server, settled."""

    def __init__(
        self,
        folder: Path,
        family: str,
        files: dict[str, str] | None = None,
        installed: Installed | None = None,
    ) -> None:
        self.sample = SAMPLES[family]
        self.driver, found = require(family)
        self.installed = installed or found
        self.root = folder / "tree"
        self.options = Options(cache=folder / "cache")
        self.texts: dict[str, bytes] = {}
        for path, text in (self.sample.files if files is None else files).items():
            self.write(path, text)
        self.start()

    def start(self) -> None:
        self.server = start_server(self.driver, self.installed, self.root, self.options)
        self.server.open_all([RepoPath(path.encode()) for path in self.texts])
        self.settle()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.server.close()

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        self.texts[path] = text.encode()

    def delete(self, path: str) -> None:
        (self.root / path).unlink()
        del self.texts[path]

    def tell(self, added: str = "", modified: str = "", deleted: str = "") -> None:
        """Tell of changed files (space between them); settle."""
        groups = ([RepoPath(p.encode()) for p in names.split()] for names in (added, modified, deleted))
        self.server.changed(*groups)
        self.settle()

    def settle(self) -> None:
        app = self.sample.app
        probes = [self.place(app, "greet", -1)] if b"greet" in self.texts.get(app, b"") else []
        settled = self.server.settle(SETTLE_S, probes)
        assert isinstance(settled, Settled), (settled, self.server.log)

    def place(self, path: str, needle: str, nth: int = 0) -> Request:
        """The position of the `nth` occurrence of `needle` (-1: the last)."""
        text = self.texts[path]
        offsets = [n for n in range(len(text)) if text.startswith(needle.encode(), n)]
        lines = Lines(text, self.server.encoding, self.driver.line_ends)
        return (RepoPath(path.encode()), *lines.position(offsets[nth]))

    def ask(self, path: str, needle: str, nth: int = 0) -> set[Target]:
        return self.read(self.server.definitions([self.place(path, needle, nth)])[0])

    def read(self, answer: Locations) -> set[Target]:
        """Targets within the tree, with the text that each range covers."""
        assert not isinstance(answer, Unknown), (answer, self.server.log)
        found = set()
        for location in answer:
            if location.path is not None:
                path = location.path.decode()
                lines = Lines(self.texts[path], self.server.encoding, self.driver.line_ends)
                start = lines.offset(location.start_line, location.start_character)
                end = lines.offset(location.end_line, location.end_character)
                found.add((path, location.start_line, self.texts[path][start:end].decode()))
        return found
