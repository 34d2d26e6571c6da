"""One file per room: the request, the function of the package that answers it, the answer."""
