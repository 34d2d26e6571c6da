"""`lopsided collapse`."""


def command() -> None:
    """Forecast from class counts which classes a network will fail to tell apart."""
