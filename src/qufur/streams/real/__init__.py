"""Real datasets in the paper's settings."""
