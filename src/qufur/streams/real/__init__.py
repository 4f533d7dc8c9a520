"""Real data, in the paper's settings."""
