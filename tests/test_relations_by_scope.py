"""Which names mean what scopes say, whatever has another type, and which are seen: no server needed."""

from __future__ import annotations

import pytest

from nibd.repair.relations.bare_typescript import is_local
from nibd.repair.relations.by_scope import has_names_by_scope, is_by_scope
from nibd.repair.relations.exports import declares_for_all, shown
from nibd.repair.relations.surface import declared
from test_relations_change import source


def names(text: str, *, by_scope: bool, path: str = "lib.py", language: str = "python") -> str:
    file = source(text, path, language)
    return " ".join(site.name for site in file.sites if is_by_scope(site, file.content, language) is by_scope)


@pytest.mark.parametrize(
    ("text", "by_type"),
    [
        ("x = made\nprint(x)\n", "print"),
        ("x = made.size\nx.kind = y\n", "size kind"),
        (
            "x = (\n    made  # so\n    .first\n    . second\n)\nx = made. \\\n    third\n",
            "first second third",
        ),
        ("K(size=x, kind = y)\nz = x == y\n", "K size kind"),
        ("match x:\n    case K(size=s, kind=t):\n        s\n", "size kind"),
        ("x = (made.  # so\n    # and so\n\n    run)\n", "run"),
        ("x = ('#', made.  # so\n    run)\n", "run"),
        ("x = ('#'.\n    run)\n", "run"),
        ("x = ('#' +  # so\n    run)\n", ""),
        ("x = (made +  # so.\n    # and so.\n    run)\n", ""),
        ("K(size  # so\n    # and so\n    =x, kind  # so = x\n)\n", "K size"),
        ("from lib import a as b\n", "lib a b"),
        ("@mark\ndef f(x: K = y) -> K:\n    return x\n", "mark K"),
        ("class C(B):\n    x: K\n    y: A[int, K(size=1)]\n", "K size"),
        ("for a, b in x:\n    a += b\n", ""),
        ("with x as y:\n    del y\n", ""),
        ("é = 1\né.é\n", "é"),
    ],
)
def test_members_arguments_calls_and_imports_depend_on_what_something_is(text: str, by_type: str) -> None:
    assert names(text, by_scope=False) == by_type


@pytest.mark.parametrize(
    ("text", "by_type"),
    [
        ("const x = made(y, [z]);", "made"),
        ("f(a.b, c?.d, e!.f);", "f b d f"),
        ("f(a. // so\n  b, c /* so */ .d);", "f b c d"),
        ("const o = { key: value, other, [computed]: last };", "key other"),
        ("const { key, other: own, more = first } = from;", "key other own more"),
        ("f('{', a, b);", "f a b"),
        ("type T = A<B, C> & D.E | keyof F;", "E"),
        ("class C extends B implements I<J> { x: T = y; z() { return w; } }", "x z"),
        ("const e = <Tag one={two} three>{four}</Tag>;", "Tag one two three four Tag"),
        ("if (x) a(); else { b(); } c();", "a b c"),
        ("for (const x of y) z = w;", "z"),
        ("import { a } from './b'; export { a };", "a a"),
        ("x ? y : z; tag`text`; export default w;", "x y tag"),
    ],
)
def test_of_typescript_what_only_may_be_a_member_or_a_key_counts_as_one(text: str, by_type: str) -> None:
    assert names(text, by_scope=False, path="a.tsx", language="tsx") == by_type


@pytest.mark.parametrize(
    ("body", "by_type"),
    [
        ("x := f(y)", ""),
        ("x.a(y.b)", "a b"),
        ("x.\n\ta()", "a"),
        ("x. // so\n\ta()", "a"),
        ("x = T{a: b, c: d}", "a c"),
        ("switch x {\n\tcase y: z()\n\t}", "y"),
    ],
)
def test_of_go_what_stands_behind_a_dot_or_before_a_colon_depends_on_a_type(body: str, by_type: str) -> None:
    text = f"package p\n\nfunc run() {{\n\t{body}\n}}\n"
    assert names(text, by_scope=False, path="a.go", language="go") == by_type


def test_in_other_languages_nothing_is_told_by_syntax() -> None:
    assert names("fn f() { let x = made; }\n", by_scope=True, path="a.rs", language="rust") == ""
    languages = ("python", "typescript", "go", "rust", "c")
    assert [has_names_by_scope(each) for each in languages] == [True, True, True, False, False]


@pytest.mark.parametrize(
    ("text", "local"),
    [
        ("const a = 1, b = 2; let c; function d(e, f) {}", "a c d e f"),
        ("export const a = 1; export default class B {} export async function c() {}", ""),
        ("export type A = B; declare const c: A; class D { constructor(private e: A, f: A) {} }", "c D f"),
        ("const { a, b: c } = d; run((e) => { const f = e; });", "e f"),
    ],
)
def test_parameters_and_what_is_declared_without_being_exported_are_local(text: str, local: str) -> None:
    file = source(text, "a.ts", "typescript")
    assert " ".join(site.name for site in file.sites if is_local(site, file.content)) == local


@pytest.mark.parametrize(
    ("text", "path", "seen"),
    [
        ("import { a } from './b';\nconst c = a;\n", "t.ts", ""),
        ("const c = 1;\nfunction d() {}\nexport { c };\n", "t.ts", "c"),
        ("const c = 1;\nfunction d() {}\nexport default d;\n", "t.ts", "d"),
        ("export const c = { k: 1 };\nconst d = 1;\n", "t.ts", "c k"),
        ("export interface I { m: string }\nclass C { n() {} }\n", "t.ts", "I m n"),
        ("const c = 1;\nfunction d() {}\nexport const e = { c, d() {} };\n", "t.ts", "c d e"),
        ("function c() {}\nexport {\n  c, // as before; kept\n};\n", "t.ts", "c"),
        ("export /* new */ function c() {}\nexport default /* so */ c\n", "t.ts", "c"),
        ("const c = require('./c');\nconst d = c;\n", "t.js", ""),
    ],
)
def test_a_module_shows_what_it_exports_and_members(text: str, path: str, seen: str) -> None:
    language = "javascript" if path.endswith(".js") else "typescript"
    file = source(text, path, language)
    assert not declares_for_all(file)
    assert " ".join(sorted(shown(file) or ())) == seen


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("const c = 1;\n", "typescript"),
        ("const c = require('./c');\n", "typescript"),
        ("import './a';\ndeclare global { interface I {} }\n", "typescript"),
        ("export {};\ndeclare module './b' { interface I {} }\n", "typescript"),
        ("// we export none of it\ndeclare const c: string;\n", "typescript"),
        ("declare namespace N {\n  export interface I {}\n}\n", "typescript"),
        ("// import order matters\nconst c = 1;\n", "typescript"),
        ("const c = import('./c');\n", "typescript"),
        ("export {};\nexport as namespace N;\n", "typescript"),
        ("const c = 1;\nmodule.exports = c;\n", "javascript"),
        ("// require('jquery') before it\nfunction c() {}\n", "javascript"),
        ("require(['jquery'], function ($) {});\nfunction c() {}\n", "javascript"),
        ("def c(): pass\n", "python"),
    ],
)
def test_a_script_and_a_common_module_show_everything(text: str, language: str) -> None:
    assert shown(source(text, "t.ts", language)) is None


@pytest.mark.parametrize(
    ("line", "types"),
    [
        ("self.size: int = size", ["int"]),
        ("self.size: int", ["int"]),
        ("self.size: dict[str, int] = {}  # so", ["dict[str, int]"]),
        ("self.size = size", []),
        ("self.size: dict[", []),
        ("self.size: Final = size", []),
        ("self.size: Final[int] = size", ["Final[int]"]),
        ("self.other: int = self.size", []),
        ("if self.size == other: self.size = 2", []),
    ],
)
def test_an_attribute_is_declared_where_its_line_says_all_of_its_type(line: str, types: list[str]) -> None:
    file = source(f"class C:\n    def __init__(self, size, other):\n        {line}\n")
    assert declared(file, ("C.__init__", 0), "size") == types
