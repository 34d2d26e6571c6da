"""How often our forecasts come true: tasks that were not used to design them, scored against simple baselines."""
