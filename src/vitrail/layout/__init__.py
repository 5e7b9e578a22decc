"""Texts as documents: which sentences they hold, and where the translations go. No torch.

A translator translates sentences. A `Document` takes a text apart into them and puts their translations where they
were, between the line breaks, spaces, tags and numbers that stay as they are.
"""

from vitrail.layout.document import Document, Pieces
from vitrail.layout.kinds import KINDS, kind_of_file, read_document

__all__ = ["KINDS", "Document", "Pieces", "kind_of_file", "read_document"]
