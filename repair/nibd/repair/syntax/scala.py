"""Scala 2 and 3: classes, traits, objects, enums, givens, extensions, type aliases; `def`s.

A value set to an anonymous class is a scope named by it; a given has a unit when it has members.
A given without a name is called as the compiler calls it, `given_Show_String`. An extension is a
scope named by the type that it extends. Lambdas, abstract types and enum cases are no units; the
package is not part of a name.
"""

import re
from collections.abc import Mapping, Sequence

from nibd.repair.syntax.spec import Enclosing, Match, Naming, Spec, joined
from nibd.stores.types import Level

_NOT_WORD = re.compile(r"\W+")
_TYPE_ARGUMENTS = re.compile(r"\[.*\]")
_IMPORTED = re.compile(
    r"(?:^import\s+|,\s*)([^\s,{]+?)(?=\.(?:\{[^}]*\}|\*|_|given\b)|\s|,|$)(?:\.\{[^}]*\})?"
)


def _naming(match: Match, enclosing: Enclosing) -> Naming | None:
    name = _name(match)
    if not name:
        return None
    qualified = joined(enclosing.prefix, ".", name)
    is_method = match.kind == "function" and enclosing.level == Level.SCOPE
    return Naming("method" if is_method else match.kind, name, qualified, qualified)


def _name(match: Match) -> str:
    written = match.texts.get("type", "")
    if match.kind == "given" and not match.name:
        return "given_" + _NOT_WORD.sub("_", written).strip("_")
    if match.kind == "extension":
        return _TYPE_ARGUMENTS.sub("", written).rpartition(".")[2]
    return match.name.strip("`")


def _modules(texts: Mapping[str, str]) -> Sequence[str]:
    """The paths of one import, without what is selected in braces or by a wildcard."""
    return _IMPORTED.findall(texts["module"])


SPEC = Spec(
    grammar="scala",
    query="""
    (class_definition name: (_) @name body: (_)? @body) @scope.class
    (trait_definition name: (_) @name body: (_)? @body) @scope.trait
    (object_definition name: (_) @name body: (_)? @body) @scope.object
    (package_object name: (_) @name body: (_)? @body) @scope.object
    (enum_definition name: (_) @name body: (_)? @body) @scope.enum
    (given_definition
      name: (_)? @name return_type: (_) @type body: (with_template_body) @body) @scope.given
    (given_definition
      name: (_)? @name
      return_type: (_) @type
      body: (instance_expression (template_body) @body)) @scope.given
    (extension_definition
      parameters: (parameters . (parameter type: (_) @type)) body: (_) @body) @scope.extension
    (val_definition
      pattern: (identifier) @name
      value: (instance_expression (template_body) @body)) @scope.object
    (type_definition name: (_) @name type: (_)) @scope.type
    (function_definition name: (_) @name body: (_)? @body) @callable.function
    (function_declaration name: (_) @name) @callable.function
    (comment) @comment
    (block_comment) @comment
    (import_declaration) @import @module
    """,
    naming=_naming,
    modules=_modules,
)
