"""A network in training in; a record of every epoch, warnings and forecasts out."""
