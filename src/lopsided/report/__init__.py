"""Facts in; HTML, PNG and text out. Templates compute nothing."""
