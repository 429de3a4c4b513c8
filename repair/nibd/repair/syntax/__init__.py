"""Source units and imports of code, by tree-sitter: one framework, one small spec a language."""

from nibd.repair.syntax.registry import spec_of
from nibd.repair.syntax.units import Syntax, read_syntax

__all__ = ["Syntax", "read_syntax", "spec_of"]
