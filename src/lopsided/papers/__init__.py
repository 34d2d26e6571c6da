"""Claim, scale and seeds in; verdict out. One folder a paper."""
