"""Looking at a root: what is there now, what of it is captured, and what of it changed."""
