"""JavaScript, with JSX."""

from nibd.repair.syntax import ecmascript
from nibd.repair.syntax.spec import Spec

SPEC = Spec(
    grammar="javascript",
    query=ecmascript.query("field_definition property: (_) @field", ["parenthesized_expression"]),
    naming=ecmascript.naming,
    modules=ecmascript.modules,
)
