"""Fit or arrays in, measurement out."""
