"""Run claims of papers and give verdicts. Each paper has its own folder."""
