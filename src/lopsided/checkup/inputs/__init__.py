"""The user's data in; evidence out, with what was left out."""
