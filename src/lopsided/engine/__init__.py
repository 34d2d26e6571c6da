"""Runs tasks and stores their results; independent of claims and trials."""
