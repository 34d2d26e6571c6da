"""A finished network measured on held-out examples, and its classifier corrected."""
