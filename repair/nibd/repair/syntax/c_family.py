"""What C and C++ share: declarators, aggregates, typedefs, macros, and names.

A declarator holds its name deep inside pointers and parentheses; patterns follow it three levels
down. Prototypes outside functions are units: in a header they are what is looked for, with their
comment above. Macros with a value are units; include guards are not. `typedef struct tag {…} name`
is a type `name` around a struct `tag`, and one struct when the two are equal or there is no tag.

What a macro hides is read as it looks: `TEST(Suite, name) {…}` is `Suite.name`,
`SYSCALL_DEFINE1(name, …) {…}` and `TEST_CASE("name") {…}` are functions named by the first argument.
"""

from __future__ import annotations

import re
from dataclasses import replace

from nibd.repair.syntax.spec import Enclosing, Match, Naming, NamingRule, joined
from nibd.stores.types import Level

_DEPTH = 3
_KINDS = ("struct", "union", "enum")
_CLASSES = {"class", "struct", "union"}
_LOUD = re.compile(r"[A-Z][A-Z0-9_]+")
_TEST = re.compile(r"(?:[A-Z0-9]+_)*TEST(?:_[A-Z]+)*")
_ANNOTATION = re.compile(
    r"\w*(?:LOCK|EXCLUDE|REQUIRE|GUARDED|ACQUIRE|RELEASE|ATTRIBUTE|NOEXCEPT|THROW|CATCH)\w*"
)
"""Macros between a function's parameters and its body."""
_PLAIN = re.compile(r"[^\W\d]\w*")
_STRING = re.compile(r'\(\s*"((?:[^"\\]|\\.)*)"')
_ARGUMENTS = re.compile(r"<.*>|<.*$")
_OPERATOR = re.compile(r"(?:^|(?<=::)|(?<=:: ))operator\b.*")
_CAST = re.compile(r"\s*\(.*")
_LONG = 100
_KEYWORDS = {"if", "else", "for", "while", "switch", "do", "return", "catch", "sizeof", "defined", "case"}


def _typedefs() -> str:
    function = "(function_declarator declarator: %s)"
    declarators = ["%s"]
    for _ in range(_DEPTH):
        declarators.append(f"(pointer_declarator declarator: {declarators[-1]})")
    declarators += ["(array_declarator declarator: %s)", function]
    declarators.append("(array_declarator declarator: (array_declarator declarator: %s))")
    in_parentheses = function % "(parenthesized_declarator (pointer_declarator declarator: %s))"
    declarators += [in_parentheses, f"(pointer_declarator declarator: {in_parentheses})"]
    named = [each % "(type_identifier) @typedef" for each in declarators]
    typed = [
        f"(type_definition type: ({kind}_specifier {tag} body: (_) @body) declarator: {each}) @scope.{kind}"
        for kind in _KINDS
        for tag in ("name: (_) @tag", "!name")
        for each in named[:2]
    ]
    return "\n".join([*typed, *(f"(type_definition declarator: {each}) @scope.type" for each in named)])


def aggregates(names: str) -> str:
    """Structs, unions and enums with a body, called as one of the nodes `names`, and typedefs."""
    of_kind = (f"({kind}_specifier name: [{names}] @name body: (_) @body) @scope.{kind}" for kind in _KINDS)
    return "\n".join([*of_kind, _typedefs()])


def functions(names: str) -> str:
    """Function declarators, called as one of the nodes `names`, and what is around them.

    A declarator is a unit when it ends up, through pointers and parentheses, in a definition or a
    prototype, and has that one's range.
    """
    inner = "[(function_declarator) (pointer_declarator) (parenthesized_declarator)] @inner"
    return f"""
    (function_declarator declarator: [{names}] @name parameters: (_) @arguments) @callable.function
    (function_declarator
      declarator: (parenthesized_declarator [{names}] @name)
      parameters: (_) @arguments) @callable.function
    (pointer_declarator declarator: {inner}) @outer
    (parenthesized_declarator {inner}) @outer
    (function_declarator declarator: (parenthesized_declarator) @inner) @outer
    (function_definition type: (_) @type declarator: (_) @inner @definition body: (_) @body) @outer
    (function_definition !type declarator: (_) @inner @definition body: (_) @body) @outer
    (function_definition type: (_) @type declarator: (_) @inner @definition !body) @outer
    (function_definition !type declarator: (_) @inner @definition !body) @outer
    (declaration type: (_) @type declarator: (_) @inner @prototype) @outer
    (declaration !type declarator: (_) @inner @prototype) @outer
    """


COMMON = """
    (preproc_def name: (_) @name value: (_)) @callable.macro
    (preproc_function_def name: (_) @name value: (_) @body) @callable.macro
    (preproc_function_def name: (_) @name) @callable.macro
    (function_definition
      type: (type_identifier) @macro
      declarator: (parenthesized_declarator) @arguments
      body: (_) @body) @callable.function
    ((expression_statement
      (call_expression function: (identifier) @macro arguments: (_) @arguments)
      (MISSING ";")) @callable.block . (compound_statement) @body @end)

    (comment) @comment
    (preproc_include path: (string_literal (string_content) @module)) @import
    (preproc_include path: (system_lib_string) @module) @import
    (preproc_include path: (identifier) @module) @import
"""


def naming_rule(separator: str) -> NamingRule:
    """Name units by those around them; what is defined out of its class has its path in its name."""

    def naming(match: Match, enclosing: Enclosing) -> Naming | None:
        if match.kind == "macro":
            return Naming("macro", match.name, match.name, match.name)
        if "typedef" in match.texts:
            return _typedef(match, enclosing, separator)
        if match.level == Level.CALLABLE:
            return _callable(match, enclosing, separator)
        written = match.name
        if match.kind == "type" and enclosing.kind in _CLASSES:
            return None
        if enclosing.kind in _KINDS and written == _last(enclosing.prefix):
            return None  # the struct of `typedef struct job {…} job`, which is a unit already
        return _joined(match.kind, written, enclosing, separator)

    return naming


def _joined(kind: str, written: str, enclosing: Enclosing, separator: str) -> Naming:
    is_absolute = written.startswith("::")
    if "//" in written or len(written) > _LONG:
        written = _ARGUMENTS.sub("", written)
    qualified = written[2:] if is_absolute else joined(enclosing.prefix, separator, written)
    return Naming(kind, _last(written), qualified, qualified)


def _typedef(match: Match, enclosing: Enclosing, separator: str) -> Naming | None:
    tag = match.texts.get("tag")
    if match.kind == "type" and enclosing.kind in _CLASSES:
        return None
    is_around = tag is not None and tag != match.texts["typedef"]
    naming = _joined(match.kind, match.texts["typedef"], enclosing, separator)
    return replace(naming, kind="type", prefix=enclosing.prefix) if is_around else naming


def _callable(match: Match, enclosing: Enclosing, separator: str) -> Naming | None:
    texts = match.texts
    is_nested = enclosing.level == Level.CALLABLE
    if "macro" in texts:
        return None if is_nested else _made_by_macro(match, enclosing, separator)
    written = _written(match.name)
    is_definition = "definition" in texts
    if (not is_definition and "prototype" not in texts) or written in _KEYWORDS:
        return None
    if is_nested and not (is_definition and "type" in texts):
        return None
    if "type" not in texts and _LOUD.fullmatch(written) and written != _last(enclosing.prefix):
        return _made_by_macro(match, enclosing, separator) if is_definition else None
    named = _joined(match.kind, written, enclosing, separator)
    if not is_definition:
        return None if "friend" in texts else replace(named, kind="prototype")
    is_method = "friend" not in texts and (enclosing.kind in _CLASSES or "::" in written)
    return replace(named, kind="method") if is_method else named


def _made_by_macro(match: Match, enclosing: Enclosing, separator: str) -> Naming | None:
    macro = match.texts.get("macro") or match.name
    arguments = match.texts["arguments"]
    if string := _STRING.match(arguments):
        return _named("function", string[1], string[1])
    parts = [part.strip() for part in arguments.strip("()").split(",")]
    if _TEST.fullmatch(macro) and len(parts) > 1 and _PLAIN.fullmatch(parts[1]):
        return _named("function", parts[1], f"{parts[0]}.{parts[1]}")
    if _LOUD.fullmatch(macro):
        is_name = _PLAIN.fullmatch(parts[0]) and not _ANNOTATION.fullmatch(macro)
        return _joined("function", parts[0], enclosing, separator) if is_name else None
    if match.kind == "block" and (arguments != "()" or macro in _KEYWORDS):
        return None
    return _joined("function", macro, enclosing, separator)


def _named(kind: str, name: str, qualified: str) -> Naming | None:
    return Naming(kind, name, qualified, qualified) if name else None


def _written(name: str) -> str:
    """A function's name as written, without what a conversion operator's node holds besides."""
    operator = _OPERATOR.search(name)
    if operator is None:
        return name
    symbol = operator[0].removeprefix("operator").strip()
    if symbol[0].isalpha() or symbol[0] == "_":
        return f"{name[: operator.start()]}operator {_CAST.sub('', symbol)}"
    return f"{name[: operator.start()]}operator{symbol.replace(' ', '')}"


def _last(path: str) -> str:
    """The last part of a path, without template arguments."""
    operator = _OPERATOR.search(path)
    if operator:
        return operator[0]
    depth, start, end = 0, 0, len(path)
    for at, character in enumerate(path):
        if character == "<":
            end = at if depth == 0 else end
            depth += 1
        elif character == ">":
            depth -= 1
        elif character == ":" and depth == 0:
            start, end = at + 1, len(path)
    return path[start:end].strip() or path
