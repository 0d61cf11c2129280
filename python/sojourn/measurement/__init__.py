"""The real thing: what the models simulate, done by real systems, into the same rows."""
