"""What identifiers do in Go.

`T(x)` is a call whether `T` is a function or a type, and a key in a composite literal is read whether it is
a field or a constant: syntax can't tell.
"""

from nibd.repair.syntax.site_rules import SiteRules, alternatives

_EMBEDDED = (
    "(type_identifier) @inherit",
    "(qualified_type name: (type_identifier) @inherit)",
    "(generic_type type: (type_identifier) @inherit)",
    "(generic_type type: (qualified_type name: (type_identifier) @inherit))",
)
_ASSIGNED = """
    (% (expression_list (identifier) @write) "=")
    (% (expression_list (selector_expression field: (field_identifier) @write)) "=")
    (% (expression_list (identifier) @definition) ":=")
"""

GO = SiteRules(
    f"""
    (identifier) @site
    (type_identifier) @site
    (field_identifier) @site
    (package_identifier) @site
    (label_name) @site
    (type_identifier) @type

    (package_clause (package_identifier) @definition)
    (const_spec (identifier) @definition)
    (var_spec (identifier) @definition)
    (short_var_declaration left: (expression_list (identifier) @definition))
    {alternatives(_ASSIGNED, "range_clause left:", "receive_statement left:")}
    (type_switch_statement alias: (expression_list (identifier) @definition))
    (parameter_declaration name: (identifier) @definition)
    (variadic_parameter_declaration name: (identifier) @definition)
    (type_parameter_declaration name: (identifier) @definition)
    (function_declaration name: (identifier) @definition)
    (method_declaration name: (field_identifier) @definition)
    (method_elem name: (field_identifier) @definition)
    (field_declaration name: (field_identifier) @definition)
    (type_spec name: (type_identifier) @definition)
    (type_alias name: (type_identifier) @definition)
    (labeled_statement label: (label_name) @definition)

    (assignment_statement left: (expression_list (identifier) @write))
    (assignment_statement left: (expression_list (selector_expression field: (field_identifier) @write)))
    (inc_statement (identifier) @write)
    (inc_statement (selector_expression field: (field_identifier) @write))
    (dec_statement (identifier) @write)
    (dec_statement (selector_expression field: (field_identifier) @write))

    (call_expression function: (identifier) @call)
    (call_expression function: (selector_expression field: (field_identifier) @call))
    (type_conversion_expression type: (generic_type type: (type_identifier) @call))
    (type_conversion_expression type:
      (generic_type type: (qualified_type name: (type_identifier) @call)))

    {alternatives("(field_declaration !name type: %)", *_EMBEDDED)}
    {alternatives("(interface_type (type_elem . % .))", *_EMBEDDED)}

    (import_spec) @in.import
    """,
    silent=frozenset("_"),
)
