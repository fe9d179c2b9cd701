"""Conversations: the agents' sessions as one tree with the checkpoints, kept in the store, forked."""
