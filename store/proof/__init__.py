"""Proof that the store is what it says it is, and putting it right where it is not."""
