"""Readers of numeric columns in flat memory, for streams."""
