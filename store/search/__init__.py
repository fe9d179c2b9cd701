"""Search over what was said, done and stored: an index beside the catalog, made from what is read anyway."""
