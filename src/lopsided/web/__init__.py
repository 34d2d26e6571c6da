"""The web laboratory: explore the theories and audit data in a browser, offline and on the user's own machine."""
