"""`./test --packages`: wheel and sdist in clean environments, with every extra, under every Python that is promised."""
