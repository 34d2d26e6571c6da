"""Code shared by claims of several papers: trained networks, means over seeds, trends."""
