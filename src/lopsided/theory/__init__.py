"""Problem in, prediction out."""
