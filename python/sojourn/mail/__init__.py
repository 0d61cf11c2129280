"""The list server from Python: subscribers, delivery with progress, what a spool holds."""
