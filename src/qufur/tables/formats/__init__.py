"""Readers of table files, one module per format."""
