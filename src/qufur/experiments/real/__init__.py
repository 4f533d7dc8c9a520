"""Real streams: what a user with a table gets."""
