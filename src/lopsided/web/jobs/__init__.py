"""Long work in processes of its own: a queue, progress, pause, cancel, limits; all end with the server."""
