"""Measuring nibd on any repository: `python -m nibd.bench`. Nothing here is imported by the product."""
