"""Forms of files that several agents share: hooks in JSON settings, records in lines."""
