"""One file per claim, named by its id; `experiments.register` finds them."""
