"""Files that are whole or not there at all, and what they may say."""
