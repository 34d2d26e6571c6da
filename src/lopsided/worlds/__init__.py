"""Data model and settings in, a simulated run with its learner and its numbers out."""
