"""Checkpoints: how one is made, what stands in it, how it is deleted, and what they tell together."""
