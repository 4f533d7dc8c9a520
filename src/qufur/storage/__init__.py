"""State files: atomic writes, locks, checked content and earlier versions."""
