"""A trace as a page: a stand-alone file, a notebook cell."""

from vitrail.explain.explanation import explain
from vitrail.explain.join import ModuleError, join_modules
from vitrail.explain.notebook import Explanation
from vitrail.explain.page import page_of, page_size

__all__ = ["Explanation", "ModuleError", "explain", "join_modules", "page_of", "page_size"]
