"""Swift: protocols, classes, structs, enums, actors, extensions, type aliases; functions and the like.

`extension Outer.Inner` is a scope of that name, its members are `Outer.Inner.member`. Computed and
observed properties, `init`, `deinit` and `subscript` are callables with their accessors inside.
What a protocol asks for is a unit when it is a function, `init` or `subscript`. Closures are no
units. Every branch of `#if` counts.
"""

import re

from nibd.repair.syntax.directives import blanked, without_directives
from nibd.repair.syntax.spec import Enclosing, Match, Naming, Spec, joined
from nibd.stores.types import Level

_TYPE_ARGUMENTS = re.compile(r"<.*?>(?![^<]*>)|\s")

_NOISE = re.compile(rb"\bany(?=[ \t]+[A-Z])|\bsending(?=[ \t]+[@A-Z])|(?<=\bnonisolated)\(unsafe\)")
"""Words of types and modifiers that the grammar doesn't know everywhere, and that units don't need."""


def _naming(match: Match, enclosing: Enclosing) -> Naming | None:
    name = match.name.strip("`")
    if match.kind == "extension":
        name = _TYPE_ARGUMENTS.sub("", name)
    if not name:
        return None
    qualified = joined(enclosing.prefix, ".", name)
    is_method = match.kind == "function" and enclosing.level == Level.SCOPE
    return Naming(
        "method" if is_method else match.kind, name.rpartition(".")[2] or name, qualified, qualified
    )


def _blanking(content: bytes) -> bytes:
    return _NOISE.sub(lambda match: blanked(match[0]), without_directives(content))


SPEC = Spec(
    grammar="swift",
    query="""
    (protocol_declaration name: (type_identifier) @name body: (_) @body) @scope.protocol
    (class_declaration declaration_kind: "class"
      name: (type_identifier) @name body: (_) @body) @scope.class
    (class_declaration declaration_kind: "struct"
      name: (type_identifier) @name body: (_) @body) @scope.struct
    (class_declaration declaration_kind: "enum"
      name: (type_identifier) @name body: (_) @body) @scope.enum
    (class_declaration declaration_kind: "actor"
      name: (type_identifier) @name body: (_) @body) @scope.actor
    (class_declaration declaration_kind: "extension" . (_) @name body: (_) @body) @scope.extension
    (class_declaration declaration_kind: "extension" name: (_) @name body: (_) @body) @scope.extension
    (typealias_declaration name: (type_identifier) @name) @scope.type
    (function_declaration "func" . _ @name body: (_)? @body) @callable.function
    (protocol_function_declaration "func" . _ @name) @callable.function
    (init_declaration "init" @name body: (_)? @body) @callable.init
    (deinit_declaration "deinit" @name body: (_) @body) @callable.deinit
    (subscript_declaration "subscript" @name (computed_property) @body) @callable.subscript
    (property_declaration
      name: (pattern bound_identifier: (simple_identifier) @name)
      computed_value: (_) @body) @callable.property
    (property_declaration
      name: (pattern bound_identifier: (simple_identifier) @name)
      (willset_didset_block) @body) @callable.property
    (comment) @comment
    (multiline_comment) @comment
    (import_declaration (identifier) @module) @import
    """,
    naming=_naming,
    blanking=_blanking,
)
