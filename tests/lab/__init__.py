"""A language model that plays from a script, so that real agents can be run without one."""
