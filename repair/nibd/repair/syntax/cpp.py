"""C++: what C has, and namespaces, classes, templates, concepts, operators.

A definition out of its class is called as written, after the namespaces around it. Namespaces
without a name have no unit; lambdas and friend declarations neither, nor types inside a class.
"""

from nibd.repair.syntax import c_family, c_preprocessor
from nibd.repair.syntax.spec import NESTED_ANGLES, Spec

_CLASS_NAMES = "(type_identifier) (template_type) (qualified_identifier)"
_FUNCTION_NAMES = """
    (identifier) (field_identifier) (qualified_identifier) (destructor_name) (operator_name)
    (template_function) (template_method)
"""
SPEC = Spec(
    grammar="cpp",
    query=f"""
    (namespace_definition name: (_) @name body: (_) @body) @scope.namespace
    (class_specifier name: [{_CLASS_NAMES}] @name body: (_) @body) @scope.class
    (concept_definition name: (_) @name) @scope.concept
    (alias_declaration name: (_) @name) @scope.type
    {c_family.aggregates(_CLASS_NAMES)}
    {c_family.functions(_FUNCTION_NAMES)}
    (operator_cast) @callable.function @name
    (qualified_identifier name: (operator_cast)) @callable.function @name
    (qualified_identifier name: (qualified_identifier name: (operator_cast))) @callable.function @name
    (reference_declarator
      [(function_declarator) (pointer_declarator) (parenthesized_declarator)] @inner) @outer
    (field_declaration
      type: (_) @type
      declarator: [(function_declarator) (pointer_declarator) (reference_declarator)]
        @inner @prototype) @outer
    {c_family.COMMON}

    (template_declaration [
      (class_specifier) (struct_specifier) (union_specifier) (function_definition) (declaration)
      (field_declaration) (alias_declaration) (concept_definition) (template_declaration)
      (friend_declaration)
    ] @inner) @outer
    (friend_declaration "friend" @friend [(function_definition) (declaration)] @inner) @outer
    (export_declaration (_) @inner) @outer
    (linkage_specification body: [(function_definition) (declaration)] @inner) @outer
    (import_declaration name: (_) @module) @import
    (import_declaration header: (_) @module) @import
    """,
    naming=c_family.naming_rule("::"),
    blanking=c_preprocessor.blanking,
    fallback=c_preprocessor.first_branches,
    at_most=((NESTED_ANGLES, 0),),
)
