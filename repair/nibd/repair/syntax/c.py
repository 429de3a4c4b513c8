"""C: functions, prototypes, structs, unions, enums, typedefs, macros."""

from nibd.repair.syntax import c_family, c_preprocessor
from nibd.repair.syntax.spec import Spec

SPEC = Spec(
    grammar="c",
    query=c_family.aggregates("(type_identifier)") + c_family.functions("(identifier)") + c_family.COMMON,
    naming=c_family.naming_rule("."),
    blanking=c_preprocessor.blanking,
    fallback=c_preprocessor.first_branches,
)
