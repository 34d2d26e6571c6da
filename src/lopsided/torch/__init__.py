"""For people who train networks with PyTorch: watch imbalance at work, and mend it. Needs the extra [torch]."""
