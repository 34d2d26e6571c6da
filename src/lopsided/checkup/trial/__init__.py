"""Evidence and a plan in; remedies trained side by side and judged out."""
