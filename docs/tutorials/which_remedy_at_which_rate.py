"""
Which remedy, at which rate?
============================

TODO
"""

print(1)
