"""Modules that the packages share and that users do not import."""
