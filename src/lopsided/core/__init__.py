"""What every room uses: errors, validation, seeds, records, figures as facts, provenance."""
