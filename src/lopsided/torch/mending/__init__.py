"""Corrects the classifier of a finished network on held-out examples."""
