"""The web laboratory: the theories to touch and data to audit, in a browser, on the user's own machine and offline."""
