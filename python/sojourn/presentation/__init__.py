"""Tables and pictures of what was found."""
