"""Li and others 2024 and 2022: group imbalance under a Gaussian mixture."""
