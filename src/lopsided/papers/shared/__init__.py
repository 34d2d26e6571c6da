"""What claims of several papers share: trained networks, means over seeds, trends."""
