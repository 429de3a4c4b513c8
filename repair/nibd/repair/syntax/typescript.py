"""TypeScript: what JavaScript has, and signatures, abstract classes, interfaces, types, enums, namespaces.

Overloads and `declare`d functions are callables without a body. Methods of an interface, of a
type's own braces and of a class are callables; properties are not, whatever their type.
"""

from nibd.repair.syntax import ecmascript
from nibd.repair.syntax.spec import Spec

QUERY = f"""
    (function_signature name: (_) @name) @callable.function
    (abstract_class_declaration name: (_) @name body: (_) @body) @scope.class
    (interface_declaration name: (_) @name body: (_) @body) @scope.interface
    (type_alias_declaration name: (_) @name) @scope.type
    (enum_declaration name: (_) @name body: (_) @body) @scope.enum
    (internal_module name: (_) @name body: (_) @body) @scope.namespace
    (module name: (_) @name body: (_)? @body) @scope.module
    (ambient_declaration "global" @name (statement_block) @body) @scope.global
    (class_body (method_signature name: (_) @name) @callable.method)
    (class_body (abstract_method_signature name: (_) @name) @callable.method)
    (interface_body (method_signature name: (_) @name) @callable.method)
    (type_alias_declaration value: (object_type (method_signature name: (_) @name) @callable.method))
    (class_body (decorator) @attribute)
    (ambient_declaration (_) @inner) @outer
    (expression_statement . (internal_module) @inner .) @outer
    (import_require_clause source: (string (string_fragment) @module)) @import
    {
    ecmascript.query(
        "public_field_definition name: (_) @field",
        ["parenthesized_expression", "as_expression", "satisfies_expression"],
    )
}
"""

SPEC = Spec(grammar="typescript", query=QUERY, naming=ecmascript.naming, modules=ecmascript.modules)
