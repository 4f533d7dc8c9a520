"""A learner at work on tables: ask, tell, corrections, and the file that stores them."""

from qufur.workbook.workbook import Workbook

__all__ = ["Workbook"]
__dir__ = __all__.copy
