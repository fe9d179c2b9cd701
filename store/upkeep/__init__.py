"""The store's size: what holds it, what is left on the disk, how it is packed."""
