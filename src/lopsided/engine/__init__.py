"""Tasks in, stored results out: what a task is, where its result is kept, who runs it. Knows no claim and no trial."""
