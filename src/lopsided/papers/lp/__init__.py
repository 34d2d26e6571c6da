"""Fang, He, Long and Su 2021: the Layer-Peeled Model and Minority Collapse."""
