"""A user's class as machine code: its records, its arithmetic, and Numba's part."""
