"""Claim, scale and seeds in; verdict out."""
