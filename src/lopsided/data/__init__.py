"""Specification and seed in, sample out."""
