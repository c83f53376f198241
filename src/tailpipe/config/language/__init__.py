"""The configuration language: text to syntax tree to values. Knows nothing of blocks and what they mean."""
