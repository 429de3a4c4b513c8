"""Go: types with a body, interfaces' methods, functions, methods by receiver, functions in variables.

`func (j *Job[T]) Run()` is `Job.Run`. A function literal that a variable is set to is named by it;
other literals have no name and belong to the function around them.
"""

import re

from nibd.repair.syntax.spec import Enclosing, Match, Naming, Spec, nested_names

_RECEIVER = re.compile(r"\(\s*(?:\w+\s+)?[\s*(]*(\w+)")
_nested = nested_names(".")


def _naming(match: Match, enclosing: Enclosing) -> Naming | None:
    if match.name == "_":
        return None
    receiver = _RECEIVER.match(match.texts.get("receiver", ""))
    if receiver is None:
        return _nested(match, enclosing)
    qualified = f"{receiver[1]}.{match.name}"
    return Naming(match.kind, match.name, qualified, qualified)


SPEC = Spec(
    grammar="go",
    query="""
    (type_spec name: (_) @name type: (struct_type (field_declaration_list) @body)) @scope.struct
    (type_spec name: (_) @name type: (interface_type) @body) @scope.interface
    (type_spec name: (_) @name) @scope.type
    (type_alias name: (_) @name) @scope.type
    (type_declaration . (_) @inner .) @outer
    (type_spec type: (interface_type (method_elem name: (_) @name) @callable.method))
    (function_declaration name: (_) @name body: (_)? @body) @callable.function
    (method_declaration receiver: (_) @receiver name: (_) @name body: (_)? @body) @callable.method
    (var_spec
      name: (_) @name
      value: (expression_list . (func_literal body: (_) @body) .)) @callable.function
    (short_var_declaration
      left: (expression_list . (identifier) @name .)
      right: (expression_list . (func_literal body: (_) @body) .)) @callable.function
    (var_declaration . (var_spec) @inner .) @outer
    (comment) @comment
    (import_spec path: (_ (_) @module)) @import
    """,
    naming=_naming,
)
