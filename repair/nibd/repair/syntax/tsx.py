"""TypeScript with JSX."""

from nibd.repair.syntax import ecmascript
from nibd.repair.syntax.spec import Spec
from nibd.repair.syntax.typescript import QUERY

SPEC = Spec(grammar="tsx", query=QUERY, naming=ecmascript.naming, modules=ecmascript.modules)
