"""What identifiers do in C and C++.

Every declared name counts as a definition, prototypes and `extern` too, but the tag of a struct or class
only where its body is. What macros hide is read as it looks. Left out are the conditions of `#if`, what
`#include` names, the bodies and parameters of macros, and attributes.
"""

from nibd.repair.syntax.site_rules import SiteRules, alternatives

_DECLARED = (
    "declaration declarator:",
    "init_declarator declarator:",
    "pointer_declarator declarator:",
    "array_declarator declarator:",
    "function_declarator declarator:",
    "parameter_declaration declarator:",
    "parenthesized_declarator",
    "attributed_declarator",
)
_FIELDS = (
    "field_declaration declarator:",
    "pointer_declarator declarator:",
    "array_declarator declarator:",
    "function_declarator declarator:",
    "parenthesized_declarator",
    "attributed_declarator",
)
_TYPES = (
    "type_definition declarator:",
    "pointer_declarator declarator:",
    "array_declarator declarator:",
    "function_declarator declarator:",
    "parenthesized_declarator",
    "attributed_declarator",
)
_TARGETS = "(identifier) @write", "(field_expression field: (field_identifier) @write)"

_BASE = f"""
    (identifier) @site
    (type_identifier) @site
    (field_identifier) @site
    (statement_identifier) @site
    (primitive_type) @site
    (type_identifier) @type
    (primitive_type) @alias

    {alternatives("(% (identifier) @definition)", *_DECLARED)}
    {alternatives("(% (field_identifier) @definition)", *_FIELDS)}
    {alternatives("(% (type_identifier) @definition)", *_TYPES)}
    (struct_specifier name: (type_identifier) @definition body: (_))
    (union_specifier name: (type_identifier) @definition body: (_))
    (enum_specifier name: (type_identifier) @definition body: (_))
    (enumerator name: (identifier) @definition)
    (labeled_statement label: (statement_identifier) @definition)
    (preproc_def name: (identifier) @definition)
    (preproc_function_def name: (identifier) @definition)

    {alternatives("(assignment_expression left: %)", *_TARGETS)}
    {alternatives("(update_expression argument: %)", *_TARGETS)}
    (field_designator (field_identifier) @write)

    (call_expression function: (identifier) @call)
    (call_expression function: (field_expression field: (field_identifier) @call))

    (preproc_include) @out
    (preproc_params) @out
    (preproc_if condition: (_) @out)
    (preproc_elif condition: (_) @out)
    (preproc_ifdef name: (identifier) @out)
    (preproc_elifdef name: (identifier) @out)
    (attribute_declaration) @out
"""

C = SiteRules(_BASE)


def _qualified(*names: str) -> str:
    """Any of `names` behind one to three qualifiers."""
    found = " ".join(names)
    once = f"(qualified_identifier name: [{found}])"
    twice = f"(qualified_identifier name: [{found} {once}])"
    return f"(qualified_identifier name: [{found} {twice}])"


_OUT_OF_CLASS = (
    "declaration declarator:",
    "init_declarator declarator:",
    "pointer_declarator declarator:",
    "array_declarator declarator:",
    "function_declarator declarator:",
    "reference_declarator",
)
_QUALIFIED_NAMES = _qualified(
    "(identifier) @definition",
    "(destructor_name (identifier) @definition)",
    "(template_function name: (identifier) @definition)",
)
_CASTS = ("static_cast", "dynamic_cast", "reinterpret_cast", "const_cast")
_CALLEES = ("(identifier) @call", "(template_function name: (identifier) @call)")
_MEMBERS = ("(field_identifier) @call", "(template_method name: (field_identifier) @call)")
_MADE = ("(type_identifier) @call", "(template_type name: (type_identifier) @call)")
_BASES = ("(type_identifier) @inherit", "(template_type name: (type_identifier) @inherit)")
_CLASSES = ("class_specifier", "struct_specifier", "union_specifier", "enum_specifier")
_TAGS = ("(type_identifier) @definition", "(template_type name: (type_identifier) @definition)")

CPP = SiteRules(
    f"""
    {_BASE}
    (namespace_identifier) @site

    {alternatives(f"(% {_QUALIFIED_NAMES})", *_OUT_OF_CLASS)}
    (function_declarator declarator: (destructor_name (identifier) @definition))
    (function_declarator declarator: (template_function name: (identifier) @definition))
    (optional_parameter_declaration declarator: (identifier) @definition)
    (reference_declarator (identifier) @definition)
    (reference_declarator (field_identifier) @definition)
    (variadic_declarator (identifier) @definition)
    (structured_binding_declarator (identifier) @definition)
    (for_range_loop declarator: (identifier) @definition)
    (lambda_capture_initializer left: (identifier) @definition)
    {alternatives(f"(% name: [{' '.join(_TAGS)} {_qualified(*_TAGS)}] body: (_))", *_CLASSES)}
    (type_parameter_declaration (type_identifier) @definition)
    (variadic_type_parameter_declaration (type_identifier) @definition)
    (optional_type_parameter_declaration name: (type_identifier) @definition)
    (concept_definition name: (identifier) @definition)
    (operator_name (identifier) @definition)
    (alias_declaration name: (type_identifier) @definition)
    (namespace_alias_definition name: (namespace_identifier) @definition)
    (namespace_definition name: (namespace_identifier) @definition)
    (namespace_definition name: (nested_namespace_specifier (namespace_identifier) @definition))
    (namespace_definition name: (nested_namespace_specifier
      (nested_namespace_specifier (namespace_identifier) @definition)))

    {alternatives("(assignment_expression left: %)", _qualified("(identifier) @write"))}
    {alternatives("(update_expression argument: %)", _qualified("(identifier) @write"))}
    (field_initializer (field_identifier) @write)

    {alternatives("(call_expression function: %)", _CALLEES[1], _qualified(*_CALLEES))}
    (call_expression function: (field_expression field: (template_method name: (field_identifier) @call)))
    (call_expression function:
      (field_expression field: (dependent_name (template_method name: (field_identifier) @call))))
    (call_expression function: (field_expression field: (destructor_name (identifier) @call)))
    (field_initializer (template_method name: (field_identifier) @call))
    (field_initializer {_qualified(*_MEMBERS)})
    (call_expression function: (field_expression field: {_qualified(*_MEMBERS)}))
    {alternatives("(new_expression type: %)", *_MADE, _qualified(*_MADE))}
    {alternatives("(compound_literal_expression type: %)", *_MADE, _qualified(*_MADE))}

    {alternatives("(base_class_clause %)", *_BASES, _qualified(*_BASES))}

    (using_declaration) @in.import
    (import_declaration) @in.import
    """,
    silent=frozenset((*_CASTS, "char8_t", "char16_t", "char32_t", "wchar_t")),
)
