"""Transitions that reach a file through another one that did not change, or by names that it passes on.

The traps of a family are played one after the other in one world, on one server, each in a folder of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from relations_scenarios import CLASSES
from relations_world import Files, World

MAKE_A = CLASSES + "\n\ndef make() -> A: ...\n"
MAKE_B = CLASSES + "\n\ndef make() -> B: ...\n"
BELOW = "from .lib import Q\n\n\nclass R(Q):\n    pass\n"
TYPED = CLASSES + "\n\ndef make(x) -> A: ...\n"
PY_NESTED = """from .lib import make, other


def outer():
    item = make()

    def inner():
        item.run()

    return inner
"""

GO = """package c

type A struct{}

func (A) Run() {}

type B struct{}

func (B) Run() {}

type S struct {
\tA
}
"""
OWN = "\nfunc (S) Run() {}\n"
DEEPER = "\ntype T struct{ S }\n"
GO_APP = 'package a\n\nimport "app/HERE/c"\n\nfunc F(s c.S) { s.Run() }\n'
GO_DEEPER = GO_APP.replace("c.S", "c.T")
GO_MAKE = GO + "\nfunc Make() A { return A{} }\n"
GO_OTHER = "package b\n\ntype A struct{}\n\nfunc (A) Run() {}\n"
GO_TAKES = """package c

import "app/HERE/b"

func Make() b.A { return b.A{} }

var V = Make()
"""
GO_USES = 'package a\n\nimport "app/HERE/c"\n\nfunc F() {\n\tc.Make().Run()\n\tc.V.Run()\n}\n'
PY_ENTERED = (
    CLASSES
    + """

class S:
    def __enter__(self) -> A: ...
    def __exit__(self, *a): ...


def make() -> S: ...
"""
)
PY_ENTERS = """from .lib import make


def use():
    with make() as item:
        item.run()
"""

GO_NESTED = """package a

import "app/HERE/c"

func F() {
\titem := c.Make()
\tinner := func() { item.Run() }
\tinner()
}
"""

TS = "export class A { run() {} }\nexport function make(): A { return new A() }\n"
TS_APP = "import { A, make } from './index'\nfunction use(a: A) { a.run(); make().run() }\n"
TS_TWO = "export class A { run() {} }\nexport class B { run() {} }\n"
TS_A = TS_TWO + "export function make(): A { return new A() }\n"
TS_B = TS_TWO + "export function make(): B { return new B() }\n"

TS_NESTED = """import { make } from './lib'
function outer() {
  const item = make()
  function inner() { item.run() }
}
"""
TS_SCRIPT = "// we export none of it\ndeclare const FIRST: string\n"
TS_SPACE = "declare namespace Early {\n  export interface Post { id: string }\n}\n"
TS_LIST = "function one() {}\nexport {\n  one, // as before; kept\n}\n"
TS_OPTIONS = """export interface Options { [key: string]: unknown }
export function configure(o: Options) {}
"""
TS_LATE = """import { A } from './one'
export default function mk(): A { return new A() }
export function make(): A { return new A() }
"""
TS_EARLY = """import made from './late'
import * as late from './late'
function use() { made().run(); late.make().run() }
"""

RUST = "pub trait T { fn run(&self) {} }\npub struct S;\nimpl T for S {}\n"
RUST_APP = "use super::t::{S, T};\npub fn f(s: S) { s.run(); }\n"


@dataclass(frozen=True)
class Trap:
    """`asks` names the sites that the server is asked about, as in `Scenario`, in the trap's own folder."""

    name: str
    before: Files
    edits: Files
    asks: Mapping[str, str]


PYTHON = [
    Trap(
        "a special method that nobody names gives back something else",
        {"lib.py": PY_ENTERED, "app.py": PY_ENTERS},
        {"lib.py": PY_ENTERED.replace("-> A", "-> B")},
        {"app.py": "lib make make run", "lib.py": "__enter__ self B"},
    ),
    Trap(
        "a changed return type of what is held by a local and used in a function within",
        {"lib.py": MAKE_A, "app.py": PY_NESTED.replace(", other", "")},
        {"lib.py": MAKE_B},
        {"app.py": "lib make make run", "lib.py": "make B"},
    ),
    Trap(
        "another value of a local that is used in a function within",
        {"lib.py": MAKE_A + "def other() -> B: ...\n", "app.py": PY_NESTED},
        {"app.py": PY_NESTED.replace("make()", "other()")},
        {"app.py": "outer item other item run inner"},
    ),
    Trap(
        "a changed return type that a variable of a module between is of",
        {
            "lib.py": MAKE_A,
            "mid.py": "from .lib import make\n\nmade = make()\n",
            "app.py": "from .mid import made\n\n\ndef use():\n    made.run()\n",
            "far.py": "from . import mid\n\n\ndef use():\n    mid.made.run()\n",
        },
        {"lib.py": MAKE_B},
        {"app.py": "mid made run", "far.py": "made run", "lib.py": "make B", "mid.py": "lib make make"},
    ),
    Trap(
        "a changed return type that an attribute between is of, but not one that is declared",
        {
            "lib.py": MAKE_A,
            "mid.py": "from .lib import A, make\n\n\nclass C:\n    def __init__(self):\n"
            "        self.made = make()\n        self.told: A = make()\n",
            "app.py": "from .mid import C\n\n\ndef use(c: C):\n    c.made.run()\n\n\ndef more(c: C):\n"
            "    c.told.run()\n",
        },
        {"lib.py": MAKE_B},
        {"app.py": "made run", "lib.py": "make B", "mid.py": "lib A make made make told A make"},
    ),
    Trap(
        "a parameter more leaves what stands between what it was",
        {
            "lib.py": TYPED,
            "mid.py": "from .lib import make\n\nmade = make(1)\n",
            "app.py": "from .mid import made\n\n\ndef use():\n    made.run()\n",
        },
        {"lib.py": TYPED.replace("x", "x, y")},
        {"lib.py": "make x y A", "mid.py": "make make"},
    ),
    Trap(
        "a base class that inherits from another",
        {
            "lib.py": CLASSES + "\n\nclass Q(A):\n    pass\n",
            "mid.py": BELOW,
            "app.py": "from .mid import R\n\n\ndef use(r: R):\n    r.run()\n",
        },
        {"lib.py": CLASSES + "\n\nclass Q(B):\n    pass\n"},
        {"app.py": "mid R run", "lib.py": "Q B", "mid.py": "lib Q Q"},
    ),
    Trap(
        "a re-export that leads elsewhere, of what has other names where it is imported",
        {
            "one.py": MAKE_A,
            "two.py": MAKE_A,
            "pkg.py": "from .one import A, make\n",
            "app.py": "from .pkg import make as mk, A as Q\n\n\ndef use(q: Q):\n"
            "    q.run()\n    mk().run()\n",
        },
        {"pkg.py": "from .two import A, make\n"},
        {"app.py": "make mk A Q Q run mk run", "pkg.py": "two A make"},
    ),
]

GOLANG = [
    Trap(
        "a file that comes to a package, whose name may lead to it",
        {"b/b.go": "package b\n\nfunc F() {}\n"},
        {"b/a.go": "package b\n\nfunc G() {}\n"},
        {"b/a.go": "b G", "b/b.go": "b"},
    ),
    Trap(
        "a file that gets another name in its package",
        {"c/c.go": GO_MAKE, "c/use.go": "package c\n\nvar own = Make()\n", "a/a.go": GO_NESTED},
        {"c/c.go": None, "c/made.go": GO_MAKE},
        {"a/a.go": "Make Run", "c/made.go": "c A A Run B B Run S A Make A A", "c/use.go": "c Make"},
    ),
    Trap(
        "a function of the name of another one, in another package",
        {"c/c.go": GO_MAKE, "d/d.go": "package d\n\nfunc D() {}\n", "a/a.go": GO_NESTED},
        {"d/d.go": "package d\n\nfunc D() {}\n\nfunc Make() {}\n"},
        {"d/d.go": "d Make"},
    ),
    Trap(
        "a changed return type of what is held by a local and used in a function within",
        {"c/c.go": GO_MAKE, "a/a.go": GO_NESTED},
        {"c/c.go": GO_MAKE.replace("Make() A { return A", "Make() B { return B")},
        {"a/a.go": "Make Run", "c/c.go": "Make B B"},
    ),
    Trap(
        "a struct that embeds another type",
        {"c/c.go": GO, "a/a.go": GO_APP},
        {"c/c.go": GO.replace("\tA\n", "\t*B\n")},
        {"a/a.go": "S Run", "c/c.go": "S B"},
    ),
    Trap(
        "a struct within another that embeds another type",
        {"c/c.go": GO + DEEPER, "a/a.go": GO_DEEPER},
        {"c/c.go": GO.replace("\tA\n", "\tB\n") + DEEPER},
        {"a/a.go": "T Run", "c/c.go": "S B"},
    ),
    Trap(
        "a promoted method that a struct begins to have of its own",
        {"c/c.go": GO + DEEPER, "a/a.go": GO_DEEPER},
        {"c/c.go": GO + DEEPER + OWN},
        {"a/a.go": "T Run", "c/c.go": "c S Run"},
    ),
    Trap(
        "a promoted method that a struct begins to have of its own, in another file",
        {"c/c.go": GO + DEEPER, "a/a.go": GO_DEEPER},
        {"c/d.go": "package c\n" + OWN},
        {"a/a.go": "T Run", "c/c.go": "c Run Run", "c/d.go": "c S Run"},
    ),
    Trap(
        "a changed return type that a variable of a package between is of",
        {
            "c/c.go": GO_MAKE,
            "b/b.go": 'package b\n\nimport "app/HERE/c"\n\nvar X = c.Make()\n',
            "a/a.go": 'package a\n\nimport "app/HERE/b"\n\nfunc F() { b.X.Run() }\n',
        },
        {"c/c.go": GO_MAKE.replace("A { return A", "B { return B")},
        {"a/a.go": "X Run", "b/b.go": "Make", "c/c.go": "Make B B"},
    ),
    Trap(
        "the package of a type that is given back is imported from elsewhere",
        {"b/b.go": GO_OTHER, "d/b.go": GO_OTHER, "c/c.go": GO_TAKES, "a/a.go": GO_USES},
        {"c/c.go": GO_TAKES.replace("HERE/b", "HERE/d")},
        {"a/a.go": "Make Run V Run", "c/c.go": "c b A b A V Make"},
    ),
]

RUSTED = [
    Trap(
        "a method of a trait that a type begins to have of its own",
        {"t.rs": RUST, "app.rs": RUST_APP},
        {"t.rs": RUST.replace("S {}", "S { fn run(&self) {} }")},
        {"app.rs": "f s S s run", "t.rs": "T S run"},
    ),
]

JAVASCRIPT = [
    Trap(
        "a name that a script declares, in a comment of which stands export",
        {"globals.d.ts": TS_SCRIPT, "app.ts": "export function use() { return SECOND.length }\n"},
        {"globals.d.ts": TS_SCRIPT + "declare const SECOND: string\n"},
        {"app.ts": "SECOND length", "globals.d.ts": "FIRST SECOND"},
    ),
    Trap(
        "a namespace that a script declares",
        {"globals.d.ts": TS_SPACE, "app.ts": "export function use(p: Late.Post) { return p }\n"},
        {"globals.d.ts": TS_SPACE + TS_SPACE.replace("Early", "Late")},
        {"app.ts": "p Late Post", "globals.d.ts": "Post id Late Post id"},
    ),
    Trap(
        "a function that a test has too, which shows nothing",
        {"lib.ts": TS_A, "app.ts": TS_NESTED, "test.ts": "import './lib'\n"},
        {"test.ts": "import './lib'\nfunction make() {}\nfunction inner() { make() }\n"},
        {"test.ts": "make inner make"},
    ),
    Trap(
        "a name more in a list of exports that a comment stands in",
        {"lib.ts": TS_LIST, "app.ts": "import { one, two } from './lib'\nfunction use() { one(); two() }\n"},
        {"lib.ts": "function two() {}\n" + TS_LIST.replace("kept\n", "kept\n  two,\n")},
        {"app.ts": "two one two", "lib.ts": "two one two"},
    ),
    Trap(
        "a key that a type begins to have, which took any before",
        {
            "lib.ts": TS_OPTIONS,
            "app.ts": "import { configure } from './lib'\nconfigure({ retries: 3 })\n",
        },
        {"lib.ts": TS_OPTIONS.replace("unknown }", "unknown; retries?: number }")},
        {"app.ts": "configure retries", "lib.ts": "Options key retries o Options"},
    ),
    Trap(
        "a star behind a statement without a semicolon",
        {
            "one.ts": TS,
            "two.ts": TS,
            "inner.ts": "export * from './one'\n",
            "index.ts": "export const VERSION = 1\nexport * from './inner'\n",
            "app.ts": TS_APP,
        },
        {"inner.ts": "export * from './two'\n"},
        {"app.ts": "A make a A a run make run"},
    ),
    Trap(
        "a changed return type of what is held by a local and used in a function within",
        {"lib.ts": TS_A, "app.ts": TS_NESTED},
        {"lib.ts": TS_B},
        {"app.ts": "make make item run", "lib.ts": "make B B"},
    ),
    Trap(
        "a star that passes on another module, through another one",
        {
            "one.ts": TS,
            "two.ts": TS,
            "inner.ts": "export * from './one'\n",
            "index.ts": "export * from './inner'\n",
            "app.ts": TS_APP,
        },
        {"inner.ts": "export * from './two'\n"},
        {"app.ts": "A make a A a run make run"},
    ),
    Trap(
        "a star that is gone",
        {"one.ts": TS, "index.ts": "export * from './one'\n", "app.ts": TS_APP},
        {"index.ts": "export {}\n"},
        {"app.ts": "A make a A a run make run"},
    ),
    Trap(
        "a barrel that is gone",
        {"one.ts": TS, "index.ts": "export * from './one'\n", "app.ts": TS_APP},
        {"index.ts": None},
        {"app.ts": "A make a A a run make run"},
    ),
    Trap(
        "a star more, of a module that came",
        {"one.ts": TS, "index.ts": "export * from './one'\n", "app.ts": TS_APP},
        {"new.ts": "export const fresh = 1\n", "index.ts": "export * from './one'\nexport * from './new'\n"},
        {"new.ts": "fresh"},
    ),
    Trap(
        "a module that comes for a default and for all that it has",
        {"one.ts": TS, "app.ts": TS_EARLY},
        {"late.ts": TS_LATE},
        {"app.ts": "made late made run late make run", "late.ts": "A mk A A make A A"},
    ),
    Trap(
        "a module that comes beside the index of a folder of its name",
        {"index/index.ts": TS, "app.ts": TS_APP},
        {"index.ts": "export const other = 1\n"},
        {"app.ts": "A make a A a run make run", "index.ts": "other"},
    ),
    Trap(
        "another default",
        {"lib.ts": TS_TWO + "export default A\n", "app.ts": "import Q from './lib'\n(q: Q) => q.run()\n"},
        {"lib.ts": TS_TWO + "export default B\n"},
        {"app.ts": "Q q Q run", "lib.ts": "B"},
    ),
    Trap(
        "a changed return type that a variable of a module between is of",
        {
            "lib.ts": TS_A,
            "mid.ts": "import { make } from './lib'\nexport const x = make()\n",
            "app.ts": "import { x } from './mid'\nfunction use() { x.run() }\n",
        },
        {"lib.ts": TS_B},
        {"app.ts": "x x run", "lib.ts": "make B B", "mid.ts": "make make"},
    ),
    Trap(
        "a changed return type that a function between has without saying so",
        {
            "lib.ts": TS_A,
            "mid.ts": "import { make } from './lib'\nexport function x() { return make() }\n",
            "app.ts": "import { x } from './mid'\nfunction use() { x().run() }\n",
        },
        {"lib.ts": TS_B},
        {"app.ts": "x x run", "lib.ts": "make B B", "mid.ts": "make make"},
    ),
]
CHAINS: Mapping[str, tuple[Files, list[Trap]]] = {
    "python": ({}, PYTHON),
    "go": ({"go.mod": "module app\n\ngo 1.21\n"}, GOLANG),
    "rust": (
        {
            "Cargo.toml": '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n',
            "src/lib.rs": "".join(f"mod t{n};\n" for n in range(len(RUSTED))),
            **{f"src/t{n}/mod.rs": "mod app;\nmod t;\n" for n in range(len(RUSTED))},
        },
        RUSTED,
    ),
    "javascript": ({"tsconfig.json": '{"compilerOptions": {"module": "esnext", "types": []}}\n'}, JAVASCRIPT),
}


@pytest.mark.parametrize("family", CHAINS)
def test_what_is_repaired_is_what_a_fresh_server_says(family: str, tmp_path: Path) -> None:
    files, traps = CHAINS[family]
    folders = [f"{'src/' if family == 'rust' else ''}t{n}" for n in range(len(traps))]
    before = [placed(trap.before, folder) for trap, folder in zip(traps, folders, strict=True)]
    all_files = {**files, **{path: text for each in before for path, text in each.items()}}
    with World(tmp_path, family, all_files) as world:
        world.relate()
        for trap, folder in zip(traps, folders, strict=True):
            world.commit(placed(trap.edits, folder))
            made = world.relate()
            _, verified = world.verify()
            assert verified.differences == [], (trap.name, made.asked)
            own = (each for each in made.asked.items() if each[0].startswith(f"{folder}/"))
            assert {path.removeprefix(f"{folder}/"): names for path, names in own} == trap.asks, trap.name
        assert world.differences() == []


def placed(files: Files, folder: str) -> Files:
    return {f"{folder}/{path}": text and text.replace("HERE", folder) for path, text in files.items()}
