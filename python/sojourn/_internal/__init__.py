"""What all other floors use: errors, files, text, units, the terminal, the build."""
