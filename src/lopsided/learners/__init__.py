"""Specification and sample in, fit out."""
