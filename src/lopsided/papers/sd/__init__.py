"""Li and Liang 2018: SGD on structured data in wide networks."""
