"""The list server from Python: whom to send to, delivery with progress, what a spool holds."""
