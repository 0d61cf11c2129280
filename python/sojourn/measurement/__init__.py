"""The real thing: what the rooms simulate, done by real systems, into the same rows."""
