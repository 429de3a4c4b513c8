"""Java: classes, interfaces, records, enums, annotation types; methods, constructors, initializers.

An enum constant with a body is a scope, and so is a field or variable that is set to an anonymous
class. Methods of other anonymous classes are named by the unit around them. A static initializer
is called `static`, an instance initializer `init`. The package is not part of a name; lambdas and
the elements of annotation types are no units.
"""

from nibd.repair.syntax.spec import NESTED_ANGLES, Enclosing, Match, Naming, Spec, joined, nested_names

_INITIALIZERS = {"static_initializer": "static", "initializer": "init"}
_nested = nested_names(".")


def _naming(match: Match, enclosing: Enclosing) -> Naming | None:
    name = _INITIALIZERS.get(match.kind)
    if name is None:
        return _nested(match, enclosing)
    qualified = joined(enclosing.prefix, ".", name)
    return Naming("initializer", name, qualified, qualified)


SPEC = Spec(
    grammar="java",
    query="""
    (class_declaration name: (_) @name body: (_) @body) @scope.class
    (interface_declaration name: (_) @name body: (_) @body) @scope.interface
    (record_declaration name: (_) @name body: (_) @body) @scope.record
    (enum_declaration name: (_) @name body: (_) @body) @scope.enum
    (annotation_type_declaration name: (_) @name body: (_) @body) @scope.annotation
    (enum_constant name: (_) @name body: (_) @body) @scope.constant
    (field_declaration declarator: (variable_declarator
      name: (_) @name value: (object_creation_expression (class_body) @body))) @scope.class
    (constant_declaration declarator: (variable_declarator
      name: (_) @name value: (object_creation_expression (class_body) @body))) @scope.class
    (local_variable_declaration declarator: (variable_declarator
      name: (_) @name value: (object_creation_expression (class_body) @body))) @scope.class
    (method_declaration name: (_) @name body: (_)? @body) @callable.method
    (constructor_declaration name: (_) @name body: (_) @body) @callable.constructor
    (compact_constructor_declaration name: (_) @name body: (_) @body) @callable.constructor
    (static_initializer (block) @body) @callable.static_initializer
    (class_body (block "{" @body) @callable.initializer)
    (enum_body_declarations (block "{" @body) @callable.initializer)
    (line_comment) @comment
    (block_comment) @comment
    (import_declaration [(scoped_identifier) (identifier)] @module) @import
    """,
    naming=_naming,
    at_most=((NESTED_ANGLES, 0),),
)
