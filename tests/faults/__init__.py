"""The fault campaign: hostile input, crashes, crowds, extreme numbers, hostile clients, and what was lost (nothing).

`./test --faults` runs it whole and prints the table; `tests/faults/test_campaign.py` runs a short form of every part.
"""
