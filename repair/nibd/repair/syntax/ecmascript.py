"""What JavaScript, TypeScript and their JSX forms share: patterns and names.

Functions and classes are units by their own name or by what they are bound to: a variable, a field,
a property, an assignment (`Job.prototype.run = function` is `Job.run`, `module.exports.run` is
`run`), `export default`. A function is one by its key in any object, also in one that is returned or
passed on: `success: function () {}` as much as `success() {}`. An object is a unit when it is bound to
a name and has functions in it, so that they are `object.method`. A bound call counts for the function
or object in it when what it is bound to looks like a component (`const Button = memo(() => …)`) or its
name says that it gives its argument back (`useCallback`), or makes something of it (`createSlice({…})`).
Other function literals, callbacks above all, belong to what is around them; functions inside them
are units.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from nibd.repair.syntax.spec import Enclosing, Match, Naming, joined
from nibd.stores.types import Level

_DOTTED = re.compile(r"[\w$#]+(?:\.[\w$#]+)*")
_EXPORTS = re.compile(r"(?:module\.)?exports")
_SELF = re.compile(r"(?:(?:module\.)?exports|this)\.")
_PROTOTYPE = re.compile(r"\.prototype(?=\.|$)")
_COMPONENT = re.compile(r"[$_]*[A-Z](?!\w*_)\w*[a-z]\w*|default")
_MAKERS = re.compile(r"(?:\$?create|define|make|extend|freeze|seal|assign|component)\w*", re.IGNORECASE)
_WRAPPERS = {
    "memo", "forwardRef", "observer", "useCallback", "useEvent", "useEventCallback", "useMemoizedFn",
    "debounce", "throttle", "once",
}  # fmt: skip
"""Functions that give back the function that they are given, or nearly."""

_FUNCTION = "(arrow_function) (function_expression) (generator_function)"
_HAS_FUNCTIONS = f"[(method_definition) (pair value: [{_FUNCTION}])]"
_OBJECT = f"(object {_HAS_FUNCTIONS}) (object (pair value: (object {_HAS_FUNCTIONS})))"


_BINDERS = {"variable", "target", "key", "field", "default"}


def query(field: str, casts: Sequence[str]) -> str:
    """The patterns for both languages.

    `field` begins the pattern of a class's field, with `@field` for its name; `casts` are nodes that
    hold a value and change nothing about it.
    """
    value = f"[{_FUNCTION} (class) (object) (call_expression) (assignment_expression) %s] @inner" % (
        " ".join(f"({cast})" for cast in casts)
    )
    callee = "function: [(identifier) (member_expression)] @callee"
    return f"""
    (function_declaration name: (_) @name body: (_) @body) @callable.function
    (generator_function_declaration name: (_) @name body: (_) @body) @callable.function
    (class_declaration name: (_) @name body: (_) @body) @scope.class
    (method_definition name: (_) @name body: (_) @body) @callable.method

    (arrow_function body: (_) @body) @callable.function
    (function_expression !name body: (_) @body) @callable.function
    (function_expression name: (_) @own body: (_) @body) @callable.function
    (generator_function !name body: (_) @body) @callable.function
    (generator_function name: (_) @own body: (_) @body) @callable.function
    (class !name body: (_) @body) @scope.class
    (class name: (_) @own body: (_) @body) @scope.class
    [{_OBJECT}] @scope.object @body
    (call_expression {callee} arguments: (arguments [{_FUNCTION}] @body)) @callable.function
    (call_expression {callee} arguments: (arguments
      (call_expression arguments: (arguments [{_FUNCTION}] @body)))) @callable.function
    (call_expression {callee} arguments: (arguments [{_OBJECT}] @body)) @scope.object

    (variable_declarator name: (identifier) @variable value: {value}) @outer
    (assignment_expression left: [(identifier) (member_expression)] @target right: {value}) @outer
    (pair key: (_) @key value: {value}) @outer
    ({field} value: {value}) @outer
    (export_statement "default" @default value: {value}) @outer
    (export_statement declaration: (_) @inner) @outer
    (lexical_declaration . (variable_declarator) @inner .) @outer
    (variable_declaration . (variable_declarator) @inner .) @outer
    (expression_statement . (assignment_expression) @inner .) @outer
    {" ".join(f"({cast} . {value}) @outer" for cast in casts)}

    (comment) @comment
    (import_statement source: (string (string_fragment) @module)) @import
    (export_statement source: (string (string_fragment) @module)) @import
    (call_expression
      function: (import)
      arguments: (arguments . (string (string_fragment) @module))) @import
    (call_expression
      function: (identifier) @function
      arguments: (arguments . (string (string_fragment) @module) .)) @import
    """


def modules(texts: Mapping[str, str]) -> Sequence[str]:
    """Of calls with one string only those of `require` are imports."""
    return (texts["module"],) if texts.get("function", "require") == "require" else ()


def naming(match: Match, enclosing: Enclosing) -> Naming | None:
    """Name a unit by its declaration, what it is bound to (innermost first), or its own name."""
    texts = match.texts
    is_dotted = match.kind == "namespace"
    kind = match.kind
    if match.name:
        path = match.name
    elif "target" in texts:
        return _assigned(match, enclosing)
    elif "key" in texts:
        path, kind = texts["key"], _member(kind)
    elif "field" in texts:
        path, kind = texts["field"], _member(kind)
    else:
        path = texts.get("variable") or texts.get("own") or texts.get("default", "")
        is_own = path == texts.get("own") and enclosing.level == Level.CALLABLE
        if is_own and path == enclosing.prefix.rpartition(".")[2]:
            return None  # `const Button = memo(function Button() {})`
    return _named(match, enclosing, kind, _unquoted(path), dotted=is_dotted)


def _member(kind: str) -> str:
    return "method" if kind == "function" else kind


def _named(
    match: Match, enclosing: Enclosing, kind: str, path: str, *, dotted: bool = False
) -> Naming | None:
    if not path or not _counts(match, enclosing, path):
        return None
    qualified = joined(enclosing.prefix, ".", path)
    name = path.rpartition(".")[2] if dotted else path
    return Naming(kind, name, qualified, enclosing.prefix if kind == "global" else qualified)


def _counts(match: Match, enclosing: Enclosing, path: str) -> bool:
    """Whether a call that a function or an object is made in is a unit; all else is."""
    callee = match.texts.get("callee", "").rpartition(".")[2]
    if not callee:
        return True
    if not _BINDERS & match.texts.keys():
        return False
    if match.kind == "object":
        is_made = enclosing.level != Level.CALLABLE and bool(_MAKERS.fullmatch(callee))
        return is_made or ("key" in match.texts and enclosing.kind == "object")
    return callee in _WRAPPERS or bool(_COMPONENT.fullmatch(path))


def _assigned(match: Match, enclosing: Enclosing) -> Naming | None:
    """Name what is assigned to `a.b`: without `exports`, `this` and `prototype`, which say no more."""
    target = match.texts["target"]
    own = match.texts.get("own", "")
    if _EXPORTS.fullmatch(target):
        name = match.texts.get("variable") or own or "exports"
        prefix = enclosing.prefix if match.kind == "object" else joined(enclosing.prefix, ".", name)
        return Naming(match.kind, name, joined(enclosing.prefix, ".", name), prefix)
    if not _DOTTED.fullmatch(target):
        return _named(match, enclosing, match.kind, own)
    kind = _member(match.kind) if _PROTOTYPE.search(target) else match.kind
    path = _PROTOTYPE.sub("", _SELF.sub("", target, count=1))
    return _named(match, enclosing, kind, path, dotted=True)


def _unquoted(name: str) -> str:
    return name[1:-1] if name[:1] in ("'", '"') and name[-1:] == name[:1] else name
