"""Data larger than memory, part by part: sufficient statistics that are updated by batches and merged in order."""
