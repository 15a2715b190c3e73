"""Choosing sentences by rule: what a statement is, what it is worth, and which later one replaces it."""
