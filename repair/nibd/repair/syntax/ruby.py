"""Ruby: modules, classes, `class << self`; methods, those of `define_method` with a literal name too.

`Outer::Base#run` is an instance method, `Outer::Base.create` one of the class. A method belongs to
the class around it, also when it is defined inside another method. A constant set to `Class.new`,
`Module.new`, `Struct.new` or `Data.define` with a block is a scope. Other blocks are no units,
hence neither are the examples of a spec.
"""

from collections.abc import Mapping, Sequence

from nibd.repair.syntax.spec import Enclosing, Match, Naming, Spec, joined
from nibd.stores.types import Level

_MAKERS = {"Class.new": "class", "Module.new": "module", "Struct.new": "class", "Data.define": "class"}
_LOADERS = {"require", "require_relative", "load"}
_DEFINERS = {"define_method": "#", "define_singleton_method": "."}


def _naming(match: Match, enclosing: Enclosing) -> Naming | None:
    match match.kind:
        case "made":
            kind = _MAKERS.get(f"{match.texts['receiver']}.{match.texts['call']}")
            return _scope(kind, match.name, enclosing) if kind else None
        case "defined":
            return _defined(match, enclosing)
        case "singleton":
            return _singleton(match.name, enclosing)
        case "method":
            return _method(match, enclosing)
    return _scope(match.kind, match.name, enclosing)


def _scope(kind: str, written: str, enclosing: Enclosing) -> Naming:
    outer = "" if written.startswith("::") else enclosing.prefix
    qualified = joined(outer, "::", written.removeprefix("::"))
    return Naming(kind, qualified.rpartition("::")[2], qualified, qualified)


def _singleton(of: str, enclosing: Enclosing) -> Naming:
    """`class << self` and `class << Other`; methods inside are written `Class.method`."""
    prefix = enclosing.prefix if of == "self" else joined(enclosing.prefix, "::", of)
    return Naming("singleton", of, f"{prefix} << {of}" if of == "self" else prefix, prefix)


def _defined(match: Match, enclosing: Enclosing) -> Naming | None:
    separator = _DEFINERS.get(match.texts["call"])
    name = match.name.lstrip(":").strip("'\"")
    if separator is None or not name or "#{" in name:
        return None
    return _callable(name, enclosing.prefix, separator, enclosing)


def _method(match: Match, enclosing: Enclosing) -> Naming:
    receiver = match.texts.get("object")
    if receiver is None:
        return _callable(match.name, enclosing.prefix, "#", enclosing)
    if receiver == "self" or receiver == enclosing.prefix.rpartition("::")[2]:
        return _callable(match.name, enclosing.prefix, ".", enclosing)
    outer = enclosing.prefix if receiver[:1].isupper() else ""
    return _callable(match.name, joined(outer, "::", receiver), ".", enclosing)


def _callable(name: str, owner: str, separator: str, enclosing: Enclosing) -> Naming:
    if enclosing.kind == "singleton":
        separator = "."
    kind = "method" if enclosing.level == Level.SCOPE or separator == "." else "function"
    return Naming(kind, name, joined(owner, separator, name), enclosing.prefix)


def _modules(texts: Mapping[str, str]) -> Sequence[str]:
    return (texts["module"],) if texts["call"] in _LOADERS else ()


SPEC = Spec(
    grammar="ruby",
    query="""
    (module name: (_) @name body: (_)? @body) @scope.module
    (class name: (_) @name body: (_)? @body) @scope.class
    (singleton_class value: (_) @name body: (_)? @body) @scope.singleton
    (assignment
      left: (constant) @name
      right: (call
        receiver: (constant) @receiver
        method: (identifier) @call
        block: (_) @body)) @scope.made
    (method name: (_) @name body: (_)? @body) @callable.method
    (singleton_method object: (_) @object name: (_) @name body: (_)? @body) @callable.method
    (call
      !receiver
      method: (identifier) @call
      arguments: (argument_list . [(simple_symbol) (string)] @name .)
      block: (_) @body) @callable.defined
    (call arguments: (argument_list . [(method) (singleton_method) (call)] @inner .)) @outer
    (comment) @comment
    (call
      !receiver
      method: (identifier) @call
      arguments: (argument_list . (string (string_content) @module) .)) @import
    """,
    naming=_naming,
    modules=_modules,
)
