"""Durable data: what nibd knows, where it lies on disk, and how one snapshot of it is read.

Lowest layer. Nothing here reads the environment or a configuration, parses a source file or talks
to a language server; every value comes in as an argument.
"""
