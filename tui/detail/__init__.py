"""What the detail tells of a row: its conversation, the files that changed, and facts; made off the screen's thread."""
