"""A claim that needs data."""

from dataclasses import replace

from lopsided.papers.register import load_claim

CLAIM = replace(load_claim(__file__.replace("toy_needy", "toy_sum")), id="toy-needy", needs=("no-such-set",))
