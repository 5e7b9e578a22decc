"""Vitrail: a machine-translation toolkit you can run, own and see through."""

__version__ = "0.1.0"
