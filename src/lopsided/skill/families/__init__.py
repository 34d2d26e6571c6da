"""One file per family of tasks, each of which defines FAMILY."""
