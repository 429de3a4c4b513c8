"""What identifiers do in Python. Assigning declares, so the first binding of a name in a unit defines it."""

from nibd.repair.syntax.site_rules import SiteRules, alternatives

_TARGETS = (
    "assignment left:",
    "for_statement left:",
    "as_pattern_target",
    "pattern_list",
    "tuple_pattern",
    "list_pattern",
    "list_splat_pattern",
)
_BOUND = "[(identifier) @binding (attribute attribute: (identifier) @write)]"
_PARAMETERS = (
    "(identifier) @binding",
    "(list_splat_pattern (identifier) @binding)",
    "(dictionary_splat_pattern (identifier) @binding)",
    "(default_parameter name: (identifier) @binding)",
)
_TYPE_PARAMETERS = (
    "(type (identifier) @definition)",
    "(type (splat_type (identifier) @definition))",
    "(type (constrained_type . (type (identifier) @definition)))",
)

PYTHON = SiteRules(
    f"""
    (identifier) @site

    {alternatives(f"(% {_BOUND})", *_TARGETS)}
    (as_pattern_target [(tuple {_BOUND}) (list {_BOUND})])
    (augmented_assignment left: [(identifier) @write (attribute attribute: (identifier) @write)])
    (for_in_clause left: (identifier) @definition)
    (for_in_clause left: (pattern_list (identifier) @definition))
    (for_in_clause left: (tuple_pattern (identifier) @definition))
    (named_expression name: (identifier) @binding)
    (case_pattern . (dotted_name . (identifier) @binding .) .)
    (keyword_pattern (identifier) . (dotted_name . (identifier) @binding .))
    (as_pattern (case_pattern) (identifier) @binding)
    (splat_pattern (identifier) @binding)

    (class_definition name: (identifier) @definition)
    (function_definition name: (identifier) @definition)
    {alternatives("(parameters %)", *_PARAMETERS)}
    {alternatives("(parameters (typed_parameter %))", *_PARAMETERS[:3])}
    (parameters (typed_default_parameter name: (identifier) @binding))
    {alternatives("(lambda_parameters %)", *_PARAMETERS).replace("@binding", "@definition")}
    (type_alias_statement left: (type (identifier) @definition))
    (type_alias_statement left: (type (generic_type . (identifier) @definition)))
    {alternatives("(class_definition type_parameters: (type_parameter %))", *_TYPE_PARAMETERS)}
    {alternatives("(function_definition type_parameters: (type_parameter %))", *_TYPE_PARAMETERS)}
    {alternatives("(type_alias_statement left: (type (generic_type (type_parameter %))))", *_TYPE_PARAMETERS)}

    (call function: (identifier) @call)
    (call function: (attribute attribute: (identifier) @call))
    (call function: (subscript value: (identifier) @call))
    (call function: (subscript value: (attribute attribute: (identifier) @call)))
    (decorator (identifier) @call)
    (decorator (attribute attribute: (identifier) @call))

    (class_definition superclasses: (argument_list (identifier) @inherit))
    (class_definition superclasses: (argument_list (attribute attribute: (identifier) @inherit)))
    (class_definition superclasses: (argument_list (subscript value: (identifier) @inherit)))
    (class_definition superclasses:
      (argument_list (subscript value: (attribute attribute: (identifier) @inherit))))
    (class_definition superclasses: (argument_list (subscript subscript: (_) @in.type)))

    (type) @in.type
    (import_statement) @in.import
    (import_from_statement) @in.import
    (future_import_statement) @in.import
    """
)
