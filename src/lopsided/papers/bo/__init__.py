"""Xu and Chen 2025: benign overfitting with class-dependent noise."""
