"""File formats of tables: each a reader of batches."""
