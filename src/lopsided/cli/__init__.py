"""A person in; the rooms below out. One file per command."""
