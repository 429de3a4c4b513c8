"""What identifiers do in JavaScript, TypeScript and their JSX forms."""

from nibd.repair.syntax.site_rules import SiteRules, alternatives

_PROPERTY = "[(property_identifier) (private_property_identifier)]"
_PATTERNS = ("array_pattern", "pair_pattern value:", "rest_pattern", "assignment_pattern left:")
_BOUND = f"[(identifier) @definition (member_expression property: {_PROPERTY} @write)]"
_WRITTEN = f"[(identifier) @write (member_expression property: {_PROPERTY} @write)]"
_BASE = f"""
    (identifier) @site
    (property_identifier) @site
    (private_property_identifier) @site
    (shorthand_property_identifier) @site
    (shorthand_property_identifier_pattern) @site
    (statement_identifier) @site

    (variable_declarator name: (identifier) @definition)
    (function_declaration name: (identifier) @definition)
    (function_expression name: (identifier) @definition)
    (generator_function_declaration name: (identifier) @definition)
    (generator_function name: (identifier) @definition)
    (method_definition name: {_PROPERTY} @definition)
    (pair key: (property_identifier) @definition)
    (arrow_function parameter: (identifier) @definition)
    (catch_clause parameter: (identifier) @definition)
    (for_in_statement kind: _ left: (identifier) @definition)
    (shorthand_property_identifier_pattern) @definition
    {alternatives(f"(% {_BOUND})", *_PATTERNS)}
    (labeled_statement label: (statement_identifier) @definition)
    (export_specifier alias: (identifier) @definition)

    (assignment_expression left: {_WRITTEN})
    (assignment_expression left: [(array_pattern) (object_pattern)] @in.write)
    (augmented_assignment_expression left: {_WRITTEN})
    (update_expression argument: {_WRITTEN})
    (for_in_statement !kind left: {_WRITTEN})
    (for_in_statement !kind left: [(array_pattern) (object_pattern)] @in.write)

    (call_expression function: (identifier) @call)
    (call_expression function: (member_expression property: {_PROPERTY} @call))
    (new_expression constructor: (identifier) @call)
    (new_expression constructor: (member_expression property: {_PROPERTY} @call))
    (decorator (identifier) @call)
    (decorator (member_expression property: {_PROPERTY} @call))

    (import_statement) @in.import
    (export_statement source: (_)) @in.import
"""
_JSX = """
    (jsx_opening_element name: (identifier) @call)
    (jsx_opening_element name: (member_expression property: (property_identifier) @call))
    (jsx_self_closing_element name: (identifier) @call)
    (jsx_self_closing_element name: (member_expression property: (property_identifier) @call))
"""
_CLASS_NAMES = "[(class_declaration name: (%) @definition) (class name: (%) @definition)]"
_BASES = """
    (% (type_identifier) @inherit)
    (% (nested_type_identifier name: (type_identifier) @inherit))
    (% (generic_type name: (type_identifier) @inherit))
    (% (generic_type name: (nested_type_identifier name: (type_identifier) @inherit)))
"""
_TYPESCRIPT = f"""
    (type_identifier) @site
    (type_identifier) @type

    {alternatives(_CLASS_NAMES, "type_identifier")}
    (abstract_class_declaration name: (type_identifier) @definition)
    (interface_declaration name: (type_identifier) @definition)
    (type_alias_declaration name: (type_identifier) @definition)
    (enum_declaration name: (identifier) @definition)
    (enum_body name: (property_identifier) @definition)
    (enum_assignment name: (property_identifier) @definition)
    (internal_module name: (identifier) @definition)
    (internal_module name: (nested_identifier object: (identifier) @definition))
    (internal_module name: (nested_identifier property: (property_identifier) @definition))
    (module name: (identifier) @definition)
    (module name: (nested_identifier object: (identifier) @definition))
    (module name: (nested_identifier property: (property_identifier) @definition))
    (function_signature name: (identifier) @definition)
    (method_signature name: {_PROPERTY} @definition)
    (abstract_method_signature name: {_PROPERTY} @definition)
    (property_signature name: {_PROPERTY} @definition)
    (public_field_definition name: {_PROPERTY} @definition)
    (index_signature name: (identifier) @definition)
    (required_parameter pattern: (identifier) @definition)
    (optional_parameter pattern: (identifier) @definition)
    (required_parameter name: (identifier) @definition)
    (optional_parameter name: (identifier) @definition)
    (type_parameter name: (type_identifier) @definition)
    (mapped_type_clause name: (type_identifier) @definition)
    (infer_type . (type_identifier) @definition)

    (call_expression function: (non_null_expression (identifier) @call))
    (call_expression function: (non_null_expression (member_expression property: {_PROPERTY} @call)))

    (extends_clause value: (identifier) @inherit)
    (extends_clause value: (member_expression property: {_PROPERTY} @inherit))
    {alternatives(_BASES, "implements_clause", "extends_type_clause")}

    (import_alias) @in.import
"""

JAVASCRIPT = SiteRules(
    f"""
    {_BASE}
    {_JSX}
    {alternatives(_CLASS_NAMES, "identifier")}
    (formal_parameters (identifier) @definition)
    (field_definition property: {_PROPERTY} @definition)
    (class_heritage (identifier) @inherit)
    (class_heritage (member_expression property: {_PROPERTY} @inherit))
    """
)
TYPESCRIPT = SiteRules(_BASE + _TYPESCRIPT)
TSX = SiteRules(_BASE + _TYPESCRIPT + _JSX)
