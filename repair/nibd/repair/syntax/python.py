"""Python: classes, functions (async ones too), methods; nested ones as `outer.inner`."""

import re

from nibd.repair.syntax.spec import Spec, nested_names

_OPERATOR_AND_STAR = re.compile(rb"[/%&|^][\s\\]*\*[ \t\f\r\\]*(?:#[^\n]*)?$", re.MULTILINE)
"""No expression: 1,000 such lines of three bytes cost the grammar 0.5 s and 365 MB, 2,500 cost 2 GB."""
SPEC = Spec(
    grammar="python",
    query="""
    (class_definition name: (identifier) @name body: (_)? @body) @scope.class
    (function_definition name: (identifier) @name body: (_)? @body) @callable.function
    (type_alias_statement left: (type (identifier) @name)) @scope.type
    (type_alias_statement left: (type (generic_type (identifier) @name))) @scope.type
    (decorated_definition definition: (_) @inner) @outer
    (comment) @comment
    (import_statement name: (dotted_name) @module) @import
    (import_statement name: (aliased_import name: (dotted_name) @module)) @import
    (import_from_statement module_name: (_) @module) @import
    (future_import_statement "__future__" @module) @import
    """,
    naming=nested_names(".", members={"function": "method"}),
    at_most=((_OPERATOR_AND_STAR, 500),),
)
