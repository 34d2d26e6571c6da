"""Evidence in; remedies with parameters and forecasts out, most promising first."""
