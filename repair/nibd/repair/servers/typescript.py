"""TypeScript and JavaScript: TypeScript 7's own server (`tsc --lsp --stdio`).

Every project file is opened: without that files outside of a tsconfig.json's reach are answered from
projects that are inferred one file at a time. npm's `tsc` is a script that starts the native program of the
platform's package; here the program is started itself. The checkout's own copy of TypeScript is passed
over like any program of a repository.

Up to three checkers of a project answer, whichever is free, and each keeps the types that it has worked out.
One that is asked in the middle of a callback, before anything around it, may take for circular what isn't:
what the callback returns is `any` to it from then on. What is asked first is chance where questions wait
together. So files of JavaScript, where that was seen, are read from the top first and asked one by one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from nibd.repair.servers.driver import Driver, Guard, Holds, Installed, Launch, Missing, Options, Search
from nibd.repair.servers.programs import candidates, first_line, output_of, private_home

INSTALL = "npm install --global typescript@7"
_OLDEST = 7


def find(search: Search) -> Installed | Missing:
    older = ""
    for program in _native_programs(search):
        version = first_line(output_of(program, ("--version",), search) or "")
        number = version.removeprefix("Version ")
        if number.partition(".")[0].isdigit() and int(number.partition(".")[0]) >= _OLDEST:
            return Installed(program, f"typescript {number}")
        older = older or number
    if older:
        return Missing(f"TypeScript {older} has no language server of its own, 7 has", INSTALL)
    if next(candidates(search, "tsc"), None):
        return Missing("the tsc that is installed is older than TypeScript 7", INSTALL)
    return Missing("TypeScript 7 is not installed", INSTALL)


def _native_programs(search: Search) -> Iterator[Path]:
    """The native programs beside each `tsc` or `tsgo`, or those themselves."""
    for name in ("tsc", "tsgo"):
        for found in candidates(search, name):
            program = found.resolve()
            if _is_native(program):
                yield program
                continue
            package = program.parent.parent
            for scope in (package / "node_modules" / "@typescript", package.parent / "@typescript"):
                for native in sorted(scope.glob("*-*-*/lib/ts[cg]*")):
                    inner = Search("", (native.parent,), search.forbidden)
                    if _is_native(native) and next(candidates(inner, native.name), None):
                        yield native


def _is_native(program: Path) -> bool:
    with program.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def launch(installed: Installed, root: Path, options: Options) -> Launch:
    env = private_home(options.cache) | {"PATH": "/nonexistent"}
    preferences = {
        "disableAutomaticTypeAcquisition": True,
        "tsserver": {"automaticTypeAcquisition": {"enabled": False}},
    }
    sections = {"typescript": preferences, "javascript": preferences, "js/ts": preferences}
    return Launch(
        argv=(str(installed.program), "--lsp", "--stdio"),
        env=env,
        initialization={"disablePushDiagnostics": True, "userPreferences": preferences},
        settings=sections,
        limits=_limits(root),
    )


def _limits(root: Path) -> tuple[str, ...]:
    manifest = root / "package.json"
    if not manifest.is_file() or (root / "node_modules").exists():
        return ()
    try:
        needs = json.loads(manifest.read_bytes())
    except (ValueError, RecursionError):
        return ("package.json is not JSON",)
    kinds = ("dependencies", "devDependencies", "peerDependencies")
    if isinstance(needs, dict) and any(needs.get(kind) for kind in kinds):
        return ("no node_modules: imports of packages lead nowhere",)
    return ()


_IDS = {
    b".ts": "typescript", b".mts": "typescript", b".cts": "typescript", b".tsx": "typescriptreact",
    b".js": "javascript", b".mjs": "javascript", b".cjs": "javascript", b".jsx": "javascriptreact",
}  # fmt: skip

DRIVER = Driver(
    family="javascript",
    server="typescript",
    languages=frozenset({"typescript", "tsx", "javascript"}),
    suffixes=tuple(_IDS),
    install=INSTALL,
    find=find,
    launch=launch,
    guards=(
        Guard("plugins that tsconfig.json names", "TypeScript 7 loads none, and no node is on its PATH"),
        Guard("typingsInstaller, which runs npm", "disableAutomaticTypeAcquisition, no npm on PATH"),
        Guard("a TypeScript in the repository's node_modules", "programs of the repository are passed over"),
    ),
    configuration=(b"package.json",),
    opens_files=True,
    holds_at_once=Holds.OPENED,
    settle_wait_s=0.3,
    audit_after=100,
    reads_first=tuple(_IDS),
    site_after_site=(b".js", b".mjs", b".cjs", b".jsx"),
    language_ids=_IDS,
    line_ends=("\n", "\r"),
)
