"""What identifiers do in Rust.

A name in a pattern binds or is a constant or a variant: the capital it begins with tells. In the arguments
of a macro only calls are told from reads; the rules of `macro_rules!` have no sites.
"""

from nibd.repair.syntax.site_rules import SiteRules, alternatives

_NAMED = """
    (struct_item name: (type_identifier) @definition)
    (enum_item name: (type_identifier) @definition)
    (union_item name: (type_identifier) @definition)
    (trait_item name: (type_identifier) @definition)
    (type_item name: (type_identifier) @definition)
    (associated_type name: (type_identifier) @definition)
    (type_parameter name: (type_identifier) @definition)
    (const_parameter name: (identifier) @definition)
    (lifetime_parameter name: (lifetime (identifier) @definition))
    (function_item name: (identifier) @definition)
    (function_signature_item name: (identifier) @definition)
    (const_item name: (identifier) @definition)
    (static_item name: (identifier) @definition)
    (enum_variant name: (identifier) @definition)
    (field_declaration name: (field_identifier) @definition)
    (macro_definition name: (identifier) @definition)
    (mod_item name: (identifier) @definition body: (_))
    (closure_parameters (identifier) @definition)
    (shorthand_field_identifier) @definition
"""
_PATTERNS = (
    "let_declaration pattern:",
    "let_condition pattern:",
    "for_expression pattern:",
    "parameter pattern:",
    "field_pattern pattern:",
    "tuple_struct_pattern type: (_)",
    "captured_pattern .",
    "match_pattern",
    "tuple_pattern",
    "slice_pattern",
    "or_pattern",
    "ref_pattern",
    "mut_pattern",
    "reference_pattern",
)
_LABELLED = ("loop_expression", "while_expression", "for_expression", "block")
_TRAITS = (
    "(type_identifier) @inherit",
    "(scoped_type_identifier name: (type_identifier) @inherit)",
    "(generic_type type: (type_identifier) @inherit)",
    "(generic_type type: (scoped_type_identifier name: (type_identifier) @inherit))",
)
_CALLEES = (
    "(identifier) @call",
    "(scoped_identifier name: (identifier) @call)",
    "(field_expression field: (field_identifier) @call)",
)

RUST = SiteRules(
    f"""
    (identifier) @site
    (type_identifier) @site
    (field_identifier) @site
    (shorthand_field_identifier) @site
    (type_identifier) @type
    (lifetime (identifier) @type)

    {_NAMED}
    {alternatives("(% (identifier) @pattern)", *_PATTERNS)}
    {alternatives("(% (label (identifier) @definition))", *_LABELLED)}

    (assignment_expression left: (identifier) @write)
    (assignment_expression left: (field_expression field: (field_identifier) @write))
    (assignment_expression left: (tuple_expression (identifier) @write))
    (assignment_expression left: (tuple_expression (field_expression field: (field_identifier) @write)))
    (compound_assignment_expr left: (identifier) @write)
    (compound_assignment_expr left: (field_expression field: (field_identifier) @write))
    (field_initializer field: (field_identifier) @write)

    {alternatives("(call_expression function: %)", *_CALLEES)}
    {alternatives("(call_expression function: (generic_function function: %))", *_CALLEES)}
    {alternatives("(macro_invocation macro: %)", *_CALLEES[:2])}
    {alternatives("(attribute . %)", *_CALLEES[:2])}
    (token_tree (identifier) @call . (token_tree . "("))
    (token_tree (identifier) @call . "!" . (token_tree))

    {alternatives("(impl_item trait: %)", *_TRAITS)}
    {alternatives("(trait_item bounds: (trait_bounds %))", *_TRAITS)}

    (mod_item name: (identifier) @import !body)
    (use_declaration) @in.import
    (extern_crate_declaration) @in.import
    (macro_rule) @out
    """,
    silent=frozenset(("_", "static")),
)
