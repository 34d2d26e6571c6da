"""Which remedy to use: what was measured, beside what such remedies gained on other data."""
