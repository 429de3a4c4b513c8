"""Kotlin: classes, interfaces, objects, enums, type aliases; functions, constructors, properties.

`fun String.ext()` is `String.ext`. Members of a companion object are named by its class, as they
are called. A property is a unit when an accessor of it has a body; its accessors are part of it.
An enum entry with a body is a scope, and so is a property that is set to an object expression.
Lambdas and anonymous functions are no units; the package is not part of a name.
"""

import re

from nibd.repair.syntax.spec import Enclosing, Match, Naming, Spec, joined
from nibd.stores.types import Level

_RECEIVER = re.compile(r"[\w.`]+")
_TYPE_ARGUMENTS = re.compile(r"<.*>")
_FIXED = {"initializer": "init", "constructor": "constructor", "companion": "Companion"}

_HEADER = re.compile(
    rb"""(\bclass\s{1,50}\w{1,200}(?:<[^<>\n]{0,200}>)?)
    ((?:\s++|//[^\n]{0,500}+\n|/\*[^*]{0,500}+(?:\*(?!/)[^*]{0,200}+){0,30}+\*/){1,20}+)
    (?=(?:(?:@[\w.:]{1,200}(?:\([^()\n]{0,200}\))?|public|private|protected|internal|actual)\s{1,50}){0,5}
       constructor\b)""",
    re.VERBOSE,
)
"""A class's name with its primary constructor on the next line, where the grammar ends the class."""
_ACTUAL = re.compile(rb"\bactual(?=\s{1,50}(?:va[lr]|constructor)\b)")


def _naming(match: Match, enclosing: Enclosing) -> Naming | None:
    name = (match.name or _FIXED.get(match.kind, "")).strip("`")
    if not name:
        return None
    qualified = joined(joined(enclosing.prefix, ".", _receiver(match)), ".", name)
    is_method = match.kind == "function" and enclosing.level == Level.SCOPE
    prefix = enclosing.prefix if match.kind == "companion" else qualified
    return Naming("method" if is_method else match.kind, name, qualified, prefix)


def _receiver(match: Match) -> str:
    """The type that is extended, without its arguments; none for a function type."""
    plain = _RECEIVER.match(_TYPE_ARGUMENTS.sub("", match.texts.get("receiver", "")))
    return plain[0] if plain else ""


def _blanking(content: bytes) -> bytes:
    joined_lines = _HEADER.sub(lambda match: match[1] + b" " * len(match[2]), content)
    return _ACTUAL.sub(b"      ", joined_lines)


SPEC = Spec(
    grammar="kotlin",
    query="""
    (class_declaration "interface" (type_identifier) @name (class_body)? @body) @scope.interface
    (class_declaration "enum" (type_identifier) @name (enum_class_body)? @body) @scope.enum
    (class_declaration (type_identifier) @name (class_body)? @body) @scope.class
    (object_declaration (type_identifier) @name (class_body)? @body) @scope.object
    (companion_object (type_identifier)? @name (class_body)? @body) @scope.companion
    (enum_entry (simple_identifier) @name (class_body) @body) @scope.constant
    (property_declaration
      (variable_declaration . (simple_identifier) @name)
      (object_literal (class_body) @body)) @scope.object
    (type_alias (type_identifier) @name) @scope.type
    (function_declaration
      receiver: (_)? @receiver (simple_identifier) @name (function_body)? @body) @callable.function
    (secondary_constructor "{" @body) @callable.constructor
    (secondary_constructor) @callable.constructor
    (anonymous_initializer "{" @body) @callable.initializer
    ((property_declaration
        receiver: (_)? @receiver
        (variable_declaration . (simple_identifier) @name)) @callable.property
      . [(line_comment) (multiline_comment)]*
      . (getter (function_body)) @body
      . [(line_comment) (multiline_comment)]*
      . (setter) @end)
    ((property_declaration
        receiver: (_)? @receiver
        (variable_declaration . (simple_identifier) @name)) @callable.property
      . [(line_comment) (multiline_comment)]*
      . (setter (function_body)) @body
      . [(line_comment) (multiline_comment)]*
      . (getter) @end)
    ((property_declaration
        receiver: (_)? @receiver
        (variable_declaration . (simple_identifier) @name)
        (getter) @body) @callable.property
      . [(line_comment) (multiline_comment)]*
      . (setter) @end)
    ((property_declaration
        receiver: (_)? @receiver
        (variable_declaration . (simple_identifier) @name)) @callable.property
      . [(line_comment) (multiline_comment)]*
      . [(getter (function_body)) (setter (function_body))] @end @body)
    (property_declaration
      receiver: (_)? @receiver
      (variable_declaration . (simple_identifier) @name)
      [(getter (function_body)) (setter (function_body))] @body) @callable.property
    (line_comment) @comment
    (multiline_comment) @comment
    (source_file (prefix_expression (annotation) (parenthesized_expression) .) @attribute)
    (import_header (identifier) @module @import)
    """,
    naming=_naming,
    blanking=_blanking,
    at_most=((re.compile(rb"\$\{"), 1_000),),
)
