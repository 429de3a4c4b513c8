"""C#: types, delegates; methods, constructors, operators, properties with code, local functions.

A property, indexer or event is a unit when an accessor of it has a body; its accessors are part of
it. Namespaces are neither units nor part of a name, so that a file-scoped one and one with braces
give the same. Lambdas and anonymous methods are no units.
"""

from nibd.repair.syntax.directives import without_directives
from nibd.repair.syntax.spec import NESTED_ANGLES, Enclosing, Match, Naming, Spec, joined


def _naming(match: Match, enclosing: Enclosing) -> Naming | None:
    name = _name(match)
    if not name:
        return None
    qualified = joined(enclosing.prefix, ".", name)
    return Naming(match.kind, name, qualified, qualified)


def _name(match: Match) -> str:
    match match.kind:
        case "indexer":
            return "this[]"
        case "destructor":
            return f"~{match.name}"
        case "operator":
            return f"operator {match.name}" if match.name[:1].isalpha() else f"operator{match.name}"
    return match.name.removeprefix("@")


SPEC = Spec(
    grammar="csharp",
    query="""
    (class_declaration name: (_) @name body: (_)? @body) @scope.class
    (struct_declaration name: (_) @name body: (_)? @body) @scope.struct
    (interface_declaration name: (_) @name body: (_)? @body) @scope.interface
    (record_declaration name: (_) @name body: (_)? @body) @scope.record
    (enum_declaration name: (_) @name body: (_)? @body) @scope.enum
    (delegate_declaration name: (_) @name) @scope.delegate
    (method_declaration name: (_) @name body: (_)? @body) @callable.method
    (local_function_statement name: (_) @name body: (_)? @body) @callable.function
    (constructor_declaration name: (_) @name body: (_)? @body) @callable.constructor
    (destructor_declaration name: (_) @name body: (_)? @body) @callable.destructor
    (operator_declaration operator: _ @name body: (_)? @body) @callable.operator
    (conversion_operator_declaration type: (_) @name body: (_)? @body) @callable.operator
    (property_declaration name: (_) @name value: (arrow_expression_clause) @body) @callable.property
    (property_declaration
      name: (_) @name
      accessors: (accessor_list (accessor_declaration body: (_))) @body) @callable.property
    (indexer_declaration value: (arrow_expression_clause) @body) @callable.indexer
    (indexer_declaration
      accessors: (accessor_list (accessor_declaration body: (_))) @body) @callable.indexer
    (event_declaration
      name: (_) @name
      accessors: (accessor_list (accessor_declaration body: (_))) @body) @callable.event
    (comment) @comment
    (using_directive [(qualified_name) (alias_qualified_name) (identifier)] @module .) @import
    """,
    naming=_naming,
    blanking=without_directives,
    at_most=((NESTED_ANGLES, 0),),
)
