"""PHP: classes, interfaces, traits, enums, functions, methods, properties with hooks.

`Job::run` is a method. Functions and classes belong to no other unit, even when they are declared
inside one, so their names stand alone; namespaces are neither units nor part of a name. A variable
set to an anonymous class is a scope; methods of other anonymous classes are named by the unit
around them. Closures and arrow functions are no units.
"""

from nibd.repair.syntax.spec import Enclosing, Match, Naming, Spec, joined

_INSIDE = ("method", "property", "object")


def _naming(match: Match, enclosing: Enclosing) -> Naming | None:
    if not match.name:
        return None
    outer = enclosing.prefix if match.kind in _INSIDE else ""
    qualified = joined(outer, "::", match.name)
    return Naming(match.kind, match.name, qualified, qualified)


SPEC = Spec(
    grammar="php",
    query="""
    (class_declaration name: (_) @name body: (_) @body) @scope.class
    (interface_declaration name: (_) @name body: (_) @body) @scope.interface
    (trait_declaration name: (_) @name body: (_) @body) @scope.trait
    (enum_declaration name: (_) @name body: (_) @body) @scope.enum
    (expression_statement (assignment_expression
      left: (variable_name (name) @name)
      right: (object_creation_expression (anonymous_class body: (_) @body)))) @scope.object
    (function_definition name: (_) @name body: (_) @body) @callable.function
    (method_declaration name: (_) @name body: (_)? @body) @callable.method
    (property_declaration
      (property_element name: (variable_name (name) @name))
      (property_hook_list (property_hook body: (_))) @body) @callable.property
    (comment) @comment
    (namespace_use_declaration (namespace_name) @module) @import
    (namespace_use_declaration
      (namespace_use_clause . [(qualified_name) (name)] @module)) @import
    (require_expression (string (string_content) @module)) @import
    (require_once_expression (string (string_content) @module)) @import
    (include_expression (string (string_content) @module)) @import
    (include_once_expression (string (string_content) @module)) @import
    """,
    naming=_naming,
)
