"""Transitions of Python code that are easy to get wrong: the relations after them, and what was asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from relations_scenarios import CLASSES, Scenario, play

LIB = """def greet(name):
    text = polite(name)
    return text


def polite(name):
    return name.title()


VERSION = greet("one")
"""
APP = """from lib import greet


def use():
    return greet("é🙂"), greet("b")
"""
MAKE_A = CLASSES + "\n\ndef make() -> A:\n    return A()\n"
MAKE_B = CLASSES + "\n\ndef make() -> B:\n    return B()\n"
MADE = """class A:
    def __init__(self, size):
        pass


class B:
    def __init__(self, size):
        pass
"""
DECLARED = """from base import A


class Box:
    def __init__(self):
        self.first: A = A()
        self.second = A()
"""
TAKEN = """from base import A, B


class Box:
    def __init__(self, made: A):
        self.first = made
        self.second: A = A()
"""
READS = """from lib import Box


def use(box: Box):
    box.first.run()


def more(box: Box):
    box.second.run()
"""
READS_FIRST = """from lib import Box


def use(box: Box):
    box.first.run()
"""
IMPORTS_WITHIN = """class Box:
    def __init__(self):
        from a import A
        self.first: A = A()
"""
IMPORTS = """from a import A


class Box:
    def __init__(self):
        self.first: A = A()
"""
TAKES_ALL = """from mid import *


def use(each: A):
    return [each, B]


def other():
    return 1
"""
INHERITS = """class P:
    def run(self, size): ...


class Q(P):
    pass
"""
BESIDE = """class M:
    pass


class P:
    def run(self, size): ...


class Q(M, P):
    pass
"""
CALLS = """from lib import Q


def use(q: Q):
    q.run(size=1)
"""
FAR = """from lib import P, Q


class R(Q):
    pass


def use(p: P, r: R):
    r.run(1)
"""
MAKES = """from one import make


def use():
    x = make()
    return x, x.run()
"""
GIVES = """

def make() -> A:
    return A()


def count(made: A) -> int:
    return 1
"""
GETS = """from lib import count, make


def use():
    x = make()
    x.run()


def more():
    x = count(1)
    x.real
"""
OVERLOADS = """from typing import overload


@overload
def f(x: int) -> int: ...


@overload
def f(x: str) -> str: ...


def f(x):
    return x
"""
VERSIONED = """import sys

if sys.version_info >= (3, 8):
    def f():
        return 1
else:
    def f():
        return 2
"""

TRAPS = [
    Scenario(
        "a trailing comment asks the sites of its unit alone",
        {"lib.py": LIB, "app.py": APP},
        {"lib.py": LIB.replace("polite(name)\n    return", "polite(name)  # softly\n    return")},
        asks={"lib.py": "greet name text polite name text"},
        refers={("app.py", "greet", 2): ["lib.py:greet:greet"]},
    ),
    Scenario(
        "a line more in a body moves what follows, which is not asked",
        {"lib.py": LIB, "app.py": APP},
        {"lib.py": LIB.replace("    text =", "    print(name)\n    text =")},
        asks={"lib.py": "greet name print name text polite name text"},
    ),
    Scenario(
        "a line less in a body",
        {"lib.py": LIB.replace("    text =", "    print(name)\n    text ="), "app.py": APP},
        {"lib.py": LIB},
        asks={"lib.py": "greet name text polite name text"},
    ),
    Scenario(
        "imports on top move every site of a module",
        {"lib.py": LIB, "app.py": APP},
        {"lib.py": "import os\nimport sys\n\n\n" + LIB},
        asks={"lib.py": "os sys VERSION greet"},
        refers={("app.py", "greet", 1): ["lib.py:greet:greet"]},
    ),
    Scenario(
        "an edited callee keeps its callers",
        {"lib.py": LIB, "app.py": APP},
        {"lib.py": LIB.replace("text = polite(name)", "text = str(polite(name)) + 'é'")},
        asks={"lib.py": "greet name text str polite name text"},
    ),
    Scenario(
        "a new function that is used from two other files",
        {"lib.py": LIB, "app.py": APP, "b.py": "import lib\n"},
        {
            "lib.py": LIB + "\n\ndef fresh():\n    return 1\n",
            "app.py": "from lib import fresh\n" + APP + "\n\ndef more():\n    return fresh()\n",
            "b.py": "import lib\n\nlib.fresh()\n",
        },
        asks={
            "app.py": "lib fresh lib greet greet greet more fresh",
            "b.py": "lib lib fresh",
            "lib.py": "VERSION greet fresh",
        },
        refers={("app.py", "fresh", 1): ["lib.py:fresh:fresh"], ("b.py", "fresh", 0): ["lib.py:fresh:fresh"]},
    ),
    Scenario(
        "a new export resolves an import that was dangling",
        {"lib.py": LIB, "app.py": "from lib import later\n\n\ndef use():\n    later()\n"},
        {"lib.py": LIB + "\n\ndef later():\n    pass\n"},
        asks={"app.py": "later later", "lib.py": "VERSION greet later"},
        refers={("app.py", "later", 1): ["lib.py:later:later"]},
    ),
    Scenario(
        "a method that is renamed in one of two classes that have it",
        {
            "lib.py": CLASSES,
            "app.py": "from lib import A, B\n\n\ndef use():\n    A().run()\n    B().run()\n",
        },
        {"lib.py": CLASSES.replace("run", "go", 1)},
        asks={"app.py": "A run B run", "lib.py": "go self"},
        refers={("app.py", "run", 0): [], ("app.py", "run", 1): ["lib.py:B.run:run"]},
    ),
    Scenario(
        "one overload more",
        {
            "lib.py": OVERLOADS,
            "app.py": "from lib import f\n\nf(1)\n",
        },
        {
            "lib.py": OVERLOADS.replace(
                "\n\ndef f(x):", "\n\n@overload\ndef f(x: bytes) -> bytes: ...\n\n\ndef f(x):"
            )
        },
        asks={"app.py": "lib f f", "lib.py": "typing overload f f overload f x bytes bytes f x x"},
    ),
    Scenario(
        "shadowed by a new local",
        {"lib.py": LIB, "app.py": APP},
        {"app.py": APP.replace("    return", "    greet = print\n    return")},
        asks={"app.py": "use greet print greet greet"},
        refers={("app.py", "greet", 2): ["app.py:use:greet", "stdlib::print"]},
    ),
    Scenario(
        "shadowed by a new parameter",
        {"lib.py": LIB, "app.py": APP},
        {"app.py": APP.replace("use()", "use(greet)")},
        asks={"app.py": "use greet greet greet"},
        refers={("app.py", "greet", 2): ["app.py:use:greet"]},
    ),
    Scenario(
        "shadowed by a new import",
        {"lib.py": LIB, "other.py": "def greet():\n    pass\n", "app.py": APP},
        {"app.py": APP.replace("\n\n\n", "\nfrom other import greet\n\n\n")},
        asks={"app.py": "lib greet other greet greet greet"},
        refers={("app.py", "greet", 2): ["lib.py:greet:greet", "other.py:greet:greet"]},
    ),
    Scenario(
        "a global that a function begins to declare",
        {"app.py": "x = 1\n\n\ndef use():\n    x = 2\n    return x\n"},
        {"app.py": "x = 1\n\n\ndef use():\n    global x\n    x = 2\n    return x\n"},
        asks={"app.py": "use x x x"},
    ),
    Scenario(
        "a re-export by a star, of what __all__ says",
        {
            "pkg/__init__.py": "from pkg.inner import *\n",
            "pkg/inner.py": '__all__ = ["a"]\n\n\ndef a():\n    pass\n\n\ndef b():\n    pass\n',
            "app.py": "from pkg import a, b\n\na()\nb()\n",
        },
        {"pkg/inner.py": '__all__ = ["a", "b"]\n\n\ndef a():\n    pass\n\n\ndef b():\n    pass\n'},
        asks={"app.py": "b a b", "pkg/inner.py": "__all__ b"},
    ),
    Scenario(
        "a re-export that leads elsewhere",
        {
            "pkg/__init__.py": "from pkg.one import run\n",
            "pkg/one.py": "def run():\n    pass\n",
            "pkg/two.py": "def run():\n    pass\n",
            "app.py": "from pkg import run\n\n\ndef use():\n    run()\n",
        },
        {"pkg/__init__.py": "from pkg.two import run\n"},
        asks={"app.py": "run run", "pkg/__init__.py": "pkg two run"},
        refers={("app.py", "run", 1): ["pkg/two.py:run:run"]},
    ),
    Scenario(
        "a re-export that leads elsewhere, and what is called on what it makes",
        {
            "pkg/__init__.py": "from pkg.one import make\n",
            "pkg/one.py": MAKE_A,
            "pkg/two.py": MAKE_B,
            "app.py": "from pkg import make\n\n\ndef use():\n    x = make()\n    return x, x.run()\n",
        },
        {"pkg/__init__.py": "from pkg.two import make\n"},
        asks={"app.py": "make make run", "pkg/__init__.py": "pkg two make"},
        refers={("app.py", "run", 0): ["pkg/two.py:B.run:run"]},
    ),
    Scenario(
        "an import that leads elsewhere, and what is called on what it makes",
        {"one.py": MAKE_A, "two.py": MAKE_B, "app.py": MAKES},
        {"app.py": MAKES.replace("one", "two")},
        asks={"app.py": "two make make run"},
        refers={("app.py", "run", 0): ["two.py:B.run:run"]},
    ),
    Scenario(
        "what was imported in vain is there, and a member of what it makes, which was there before",
        {"base.py": CLASSES, "two.py": "", "app.py": MAKES.replace("one", "two")},
        {"two.py": "from base import A\n\n\ndef make() -> A: ...\n"},
        asks={"app.py": "make make run", "two.py": "base A make A"},
        refers={("app.py", "run", 0): ["base.py:A.run:run"]},
    ),
    Scenario(
        "a changed return type, and what a third file calls on it",
        {
            "lib.py": MAKE_A,
            "app.py": "from lib import make\n\n\ndef use():\n    x = make()\n    x.run()\n",
        },
        {"lib.py": MAKE_B},
        asks={"app.py": "lib make make run", "lib.py": "make B B"},
        refers={("app.py", "run", 0): ["lib.py:B.run:run"]},
    ),
    Scenario(
        "a changed return type, and what is called on it behind a comment",
        {
            "lib.py": MAKE_A,
            "app.py": "from lib import make\n\n\ndef use():\n    x = make()\n    (x.  # so\n     run)\n",
        },
        {"lib.py": MAKE_B},
        asks={"app.py": "lib make make run", "lib.py": "make B B"},
        refers={("app.py", "run", 0): ["lib.py:B.run:run"]},
    ),
    Scenario(
        "a changed return type, by which another class is made, with arguments by name",
        {
            "lib.py": MADE + "\n\ndef kind() -> type[A]:\n    return A\n",
            "app.py": "from lib import kind\n\n\ndef use():\n    K = kind()\n    print(K, K(size=1))\n",
        },
        {"lib.py": MADE + "\n\ndef kind() -> type[B]:\n    return B\n"},
        asks={"app.py": "lib kind kind print K size", "lib.py": "kind type B B"},
        refers={("app.py", "size", 0): ["lib.py:B.__init__:size"]},
    ),
    Scenario(
        "a constructor that takes more leaves attributes of a declared type what they were",
        {"lib.py": DECLARED, "base.py": CLASSES, "app.py": READS},
        {"lib.py": DECLARED.replace("(self)", "(self, more)")},
        asks={"app.py": "second run", "lib.py": "__init__ self more self first A A self second A"},
    ),
    Scenario(
        "a constructor's parameter of another type, which an attribute takes over",
        {"lib.py": TAKEN, "base.py": CLASSES, "app.py": READS},
        {"lib.py": TAKEN.replace("made: A", "made: B")},
        asks={"app.py": "first run", "lib.py": "__init__ self made B self first made self second A A"},
        refers={("app.py", "run", 0): ["base.py:B.run:run"]},
    ),
    Scenario(
        "a constructor that takes more, and imports the type of an attribute from elsewhere",
        {"a.py": CLASSES, "b.py": CLASSES, "lib.py": IMPORTS_WITHIN, "app.py": READS_FIRST},
        {"lib.py": IMPORTS_WITHIN.replace("(self)", "(self, more)").replace("from a", "from b")},
        asks={"app.py": "first run", "lib.py": "__init__ self more b A self first A A"},
        refers={("app.py", "run", 0): ["b.py:A.run:run"]},
    ),
    Scenario(
        "a constructor that takes more, and a module that imports the type of an attribute from elsewhere",
        {"a.py": CLASSES, "b.py": CLASSES, "lib.py": IMPORTS, "app.py": READS_FIRST},
        {"lib.py": IMPORTS.replace("(self)", "(self, more)").replace("from a", "from b")},
        asks={"app.py": "first run", "lib.py": "b A __init__ self more self first A A"},
        refers={("app.py", "run", 0): ["b.py:A.run:run"]},
    ),
    Scenario(
        "a module that imports the type of an attribute and what a function gives back from elsewhere",
        {"a.py": CLASSES, "b.py": CLASSES, "lib.py": IMPORTS + GIVES, "app.py": READS_FIRST, "far.py": GETS},
        {"lib.py": IMPORTS.replace("from a", "from b") + GIVES},
        asks={
            "app.py": "first run",
            "far.py": "lib count make make run",
            "lib.py": "b A first A A A A A",
        },
        refers={("app.py", "run", 0): ["b.py:A.run:run"], ("far.py", "run", 0): ["b.py:A.run:run"]},
    ),
    Scenario(
        "code under a condition that changes",
        {
            "lib.py": VERSIONED,
            "app.py": "from lib import f\n\nf()\n",
        },
        {"lib.py": VERSIONED.replace(">=", "<")},
        asks={"lib.py": "sys sys version_info"},
    ),
    Scenario(
        "a rename of case alone",
        {"Util.py": "def f():\n    pass\n", "app.py": "from util import f\n\nf()\n"},
        {"Util.py": None, "util.py": "def f():\n    pass\n"},
        asks={"app.py": "util f f", "util.py": "f"},
        refers={("app.py", "f", 1): ["util.py:f:f"]},
    ),
    Scenario(
        "a package that hides a module",
        {"lib.py": "def f():\n    pass\n", "app.py": "import lib\n\nlib.f()\n"},
        {"lib/__init__.py": "def f():\n    pass\n"},
        asks={"app.py": "lib lib f", "lib/__init__.py": "f"},
        refers={("app.py", "f", 0): ["lib/__init__.py:f:f"]},
    ),
    Scenario(
        "an attribute that a base class begins to have",
        {
            "lib.py": "class Base:\n    pass\n",
            "mid.py": "from lib import Base\n\n\nclass Sub(Base):\n    pass\n",
            "app.py": "from mid import Sub\n\n\ndef use(sub: Sub):\n    return sub.size\n",
        },
        {"lib.py": "class Base:\n    def __init__(self):\n        self.size = 1\n"},
        asks={"app.py": "size", "lib.py": "Base __init__ self self size", "mid.py": "lib Base"},
        refers={("app.py", "size", 0): ["lib.py:Base.__init__:size"]},
    ),
    Scenario(
        "a class that begins to have its own of what it inherited",
        {"lib.py": INHERITS, "app.py": CALLS, "far.py": FAR},
        {"lib.py": INHERITS.replace("(P):\n    pass", "(P):\n    def run(self, size): ...")},
        asks={"app.py": "run size", "far.py": "run", "lib.py": "Q P run self size"},
        refers={
            ("app.py", "run", 0): ["lib.py:Q.run:run"],
            ("app.py", "size", 0): ["lib.py:Q.run:size"],
            ("far.py", "run", 0): ["lib.py:Q.run:run"],
        },
    ),
    Scenario(
        "a class that begins to say how it is made",
        {"lib.py": "class Q:\n    pass\n", "app.py": "from lib import Q\n\n\ndef use():\n    Q(size=1)\n"},
        {"lib.py": "class Q:\n    def __init__(self, size): ...\n"},
        asks={"app.py": "lib Q Q size", "lib.py": "Q __init__ self size"},
        refers={("app.py", "size", 0): ["lib.py:Q.__init__:size"]},
    ),
    Scenario(
        "a class that no longer has its own of what it inherits",
        {"lib.py": INHERITS.replace("(P):\n    pass", "(P):\n    def run(self, size): ..."), "app.py": CALLS},
        {"lib.py": INHERITS},
        asks={"app.py": "run size", "lib.py": "Q P"},
        refers={("app.py", "run", 0): ["lib.py:P.run:run"]},
    ),
    Scenario(
        "a class beside another from which one inherits begins to have a member of that",
        {"lib.py": BESIDE, "app.py": CALLS},
        {"lib.py": BESIDE.replace("class M:\n    pass", "class M:\n    def run(self, size): ...")},
        asks={"app.py": "run size", "lib.py": "M run self size"},
        refers={("app.py", "run", 0): ["lib.py:M.run:run"]},
    ),
    Scenario(
        "a class more resolves what was called on it, by a name that another has too",
        {
            "lib.py": "class A:\n    def run(self):\n        pass\n",
            "app.py": "from lib import A, B\n\n\ndef use():\n    A().run()\n    B().run()\n",
        },
        {"lib.py": CLASSES},
        asks={"app.py": "B A run B run", "lib.py": "B run self"},
        refers={("app.py", "run", 1): ["lib.py:B.run:run"]},
    ),
    Scenario(
        "a second function of a name",
        {"lib.py": "def f():\n    pass\n", "app.py": "from lib import f\n\nf()\n"},
        {"lib.py": "def f():\n    pass\n\n\nif f():\n    def f():\n        return 1\n"},
        asks={"app.py": "f f", "lib.py": "f f f"},
        refers={("app.py", "f", 1): ["lib.py:f:f", "lib.py:f:f"]},
    ),
    Scenario(
        "a star between that leads elsewhere",
        {
            "one.py": "def f():\n    pass\n",
            "two.py": "def f():\n    pass\n",
            "mid.py": "from one import *\n",
            "app.py": "from mid import f\n\nf()\n",
        },
        {"mid.py": "from two import *\n"},
        asks={"app.py": "mid f f", "mid.py": "two"},
        refers={("app.py", "f", 1): ["two.py:f:f"]},
    ),
    Scenario(
        "a star between that leads elsewhere, and another line of the file that takes a star from it",
        {"one.py": CLASSES, "two.py": CLASSES, "mid.py": "from one import *\n", "app.py": TAKES_ALL},
        {"mid.py": "from two import *\n", "app.py": TAKES_ALL.replace("1", "2")},
        asks={"app.py": "mid use each A each B other", "mid.py": "two"},
        refers={("app.py", "A", 0): ["two.py:A:A"], ("app.py", "B", 0): ["two.py:B:B"]},
    ),
    Scenario(
        "a package that was imported before it was there",
        {"app.py": "from pkg.sub import f\nimport pkg\n\nf()\n"},
        {"pkg/__init__.py": "", "pkg/sub/__init__.py": "from .deep import f\n", "pkg/sub/deep.py": "f = 1\n"},
        asks={"app.py": "pkg sub f pkg f", "pkg/sub/__init__.py": "deep f", "pkg/sub/deep.py": "f"},
        refers={("app.py", "f", 1): ["pkg/sub/deep.py::f"]},
    ),
    Scenario(
        "a module that was imported before it was there, and what a class that it does not name has",
        {"base.py": CLASSES, "app.py": "import tool\n\ntool.make().run()\n"},
        {"tool.py": "from base import A\n\n\ndef make() -> A:\n    return A()\n"},
        asks={"app.py": "tool tool make run", "tool.py": "base A make A A"},
        refers={("app.py", "run", 0): ["base.py:A.run:run"]},
    ),
    Scenario(
        "a module with a name that is imported from elsewhere, in vain before and after",
        {"app.py": "from away import run, later\n\n\ndef use():\n    run()\n    later()\n"},
        {"tool.py": "def run():\n    pass\n"},
        asks={"app.py": "run", "tool.py": "run"},
    ),
    Scenario(
        "a module of the name of one of the standard library",
        {"app.py": "import colorsys\nimport os\n\n\ndef use():\n    colorsys.rgb_to_hls(1, 2, 3)\n"},
        {"colorsys.py": "def rgb_to_hls(): ...\n"},
        asks={"app.py": "colorsys os use colorsys rgb_to_hls", "colorsys.py": "rgb_to_hls"},
        refers={("app.py", "rgb_to_hls", 0): ["colorsys.py:rgb_to_hls:rgb_to_hls"]},
    ),
    Scenario(
        "a stub beside a module, to which names lead as before",
        {
            "base.py": CLASSES,
            "lib.py": "def make(kind):\n    return kind\n",
            "app.py": "from lib import make\n\nmake(1).run()\n",
        },
        {"lib.pyi": "from base import A\n\ndef make(kind: int) -> A: ...\n"},
        asks={"app.py": "lib make make run", "lib.pyi": "base A make kind int A"},
        refers={("app.py", "run", 0): ["base.py:A.run:run"]},
    ),
]


@pytest.mark.parametrize("scenario", TRAPS, ids=str)
def test_a_transition_ends_at_what_a_fresh_server_says(scenario: Scenario, tmp_path: Path) -> None:
    play(scenario, tmp_path)
