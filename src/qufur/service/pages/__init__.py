"""Three pages for people: streams, the progress of one, and its rows to label.

Pages are shells: what they show and do goes through /v1 like that of any program, so that there is one set of
rules. Only keys have forms of their own.
"""

from qufur.service.pages.routes import add_pages

__all__ = ["add_pages"]
