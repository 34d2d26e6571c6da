"""The laboratory in a browser: one page per room."""
