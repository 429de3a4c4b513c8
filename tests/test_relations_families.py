"""Transitions in the other language families, each a chain in one world that ends at what a rebuild gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from nibd.stores.types import Assurance
from relations_scenarios import Scenario, play
from relations_world import Files, World, compared

GO_LIB = """package app

import "strings"

func Greet(name string) string {
	text := strings.ToUpper(name)
	return text
}

func Polite(name string) string { return name }
"""
GO_APP = 'package app\n\nfunc use() string { x := "é🙂"; return Greet(x) + Polite(x) }\n'
TS_LIB = """export function greet(name: string) {
  const text = polite(name);
  return text;
}

export function polite(name: string) { return name; }
"""
TS_APP = (
    'import { greet, polite } from "./lib";\n\nexport function use() { return greet("é🙂") + polite("b"); }\n'
)
TS_CONFIG = '{"compilerOptions": {"strict": true, "module": "esnext", "types": []}}\n'
C_LIB = """int polite(int n);

static inline int greet(int n) {
    int text = polite(n);
    return text;
}
"""
C_APP = '#include "lib.h"\n\nint use(void) { return greet(1); }\n'
RUST_LIB = """pub fn greet(name: &str) -> String {
    let text = polite(name);
    text.to_string()
}

pub fn polite(name: &str) -> &str { name }
"""
RUST_APP = 'mod lib2;\n\npub fn run() -> String { let x = "é🙂"; lib2::greet(lib2::polite(x)) }\n'


@dataclass(frozen=True)
class Step:
    """`asks` as in `Scenario`; `None` where a family's server has its reasons to be asked more."""

    edits: Files
    asks: Mapping[str, str] | None


@dataclass(frozen=True)
class Chain:
    family: str
    before: Files
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return self.family


def _same(family: str, before: Files, lib: str, comment: str, line: str, unit: str) -> Chain:
    """A trailing comment; a line more; then the module goes, and comes again."""
    text = str(before[lib])
    first = next(each for each in text.splitlines() if "polite(n" in each or "ToUpper(n" in each)
    commented = text.replace(first, f"{first}  {comment}")
    longer = commented.replace(first, f"{line}\n{first}")
    return Chain(
        family,
        before,
        (
            Step({lib: commented}, {lib: unit}),
            Step({lib: longer}, None),
            Step({lib: None}, None),
            Step({lib: longer}, None),
        ),
    )


CHAINS = [
    _same(
        "go",
        {"go.mod": "module example.org/app\n\ngo 1.20\n", "lib.go": GO_LIB, "app.go": GO_APP},
        "lib.go", "// softly", "\tprintln(name)",
        "Greet name string string text strings ToUpper name text",
    ),
    _same(
        "javascript",
        {"tsconfig.json": TS_CONFIG, "lib.ts": TS_LIB, "app.ts": TS_APP},
        "lib.ts", "// softly", "  void name;", "greet name text polite name text",
    ),
    _same(
        "c",
        {"lib.h": C_LIB, "app.c": C_APP, "b.c": C_APP.replace("use", "other")},
        "lib.h", "/* softly */", "    n++;", "greet n text polite n text",
    ),
    _same(
        "rust",
        {
            "Cargo.toml": '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n',
            "src/lib2.rs": RUST_LIB, "src/lib.rs": RUST_APP,
        },
        "src/lib2.rs", "// softly", "    drop(name);",
        "greet name String text polite name text to_string",
    ),
]  # fmt: skip


@pytest.mark.parametrize("chain", CHAINS, ids=str)
def test_a_chain_of_transitions_ends_at_a_rebuild(chain: Chain, tmp_path: Path) -> None:
    with World(tmp_path, chain.family, chain.before) as world:
        assert world.relate().record.assurance is Assurance.EXACT
        for number, step in enumerate(chain.steps):
            world.commit(step.edits)
            made = world.relate()
            before = world.contents()
            _, verified = world.verify()
            assert verified.differences == [], (number, compared(before, world.contents()))
            if step.asks is not None:
                assert made.asked == step.asks, (number, made.asked)
        wrong = world.differences()
        assert wrong == [], wrong


def test_builtin_functions_of_go_have_their_names(tmp_path: Path) -> None:
    source = "package app\n\nfunc use(a []int) int { a = append(a, 1); return len(a) }\n"
    with World(tmp_path, "go", {"go.mod": "module app\n\ngo 1.21\n", "app.go": source}) as world:
        world.relate()
        assert world.targets("app.go", "append") == ["std::append"]
        assert world.targets("app.go", "len") == ["std::len"]
        assert world.targets("app.go", "int") == ["std::int"]


TYPESCRIPT = [
    Scenario(
        "a star that passes on a new export",
        {
            "tsconfig.json": TS_CONFIG,
            "inner.ts": "export function a() {}\n",
            "index.ts": 'export * from "./inner";\n',
            "app.ts": 'import { a, b } from "./index";\n\na();\nb();\n',
        },
        {"inner.ts": "export function a() {}\n\nexport function b() {}\n"},
        asks={"app.ts": "b a b", "inner.ts": "b"},
        refers={("app.ts", "b", 1): ["inner.ts:b:b"]},
        family="javascript",
    ),
    Scenario(
        "a re-export that leads elsewhere",
        {
            "tsconfig.json": TS_CONFIG,
            "one.ts": "export function run() {}\n",
            "two.ts": "export function run() {}\n",
            "index.ts": 'export { run } from "./one";\n',
            "app.ts": 'import { run } from "./index";\nimport * as all from "./index";\n\n'
            "run();\nall.run();\n",
        },
        {"index.ts": 'export { run } from "./two";\n'},
        asks={"app.ts": "run run run", "index.ts": "run"},
        refers={("app.ts", "run", 1): ["two.ts:run:run"]},
        family="javascript",
    ),
    Scenario(
        "a changed return type, and what a third file calls on it",
        {
            "tsconfig.json": TS_CONFIG,
            "lib.ts": "export class A { run() {} }\nexport class B { run() {} }\n"
            "export function make(): A { return new A(); }\n",
            "app.ts": 'import { make } from "./lib";\n\nexport function use() {\n  make().run();\n}\n',
        },
        {
            "lib.ts": "export class A { run() {} }\nexport class B { run() {} }\n"
            "export function make(): B { return new B(); }\n"
        },
        asks={"app.ts": "make make run", "lib.ts": "make B B"},
        refers={("app.ts", "run", 0): ["lib.ts:B.run:run"]},
        family="javascript",
    ),
]


@pytest.mark.parametrize("scenario", TYPESCRIPT, ids=str)
def test_a_transition_of_typescript_ends_at_what_a_fresh_server_says(
    scenario: Scenario, tmp_path: Path
) -> None:
    play(scenario, tmp_path)
