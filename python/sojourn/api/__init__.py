"""The interface for Python: what `import sojourn` offers."""
