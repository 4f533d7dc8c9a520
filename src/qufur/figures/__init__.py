"""Figures and HTML pages in one common style."""
