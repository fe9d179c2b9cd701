"""The only code that knows git: isolated calls, streams into the object store, reading it, comparing trees."""
