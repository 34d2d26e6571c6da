"""
Will my tail collapse?
======================

Words.
"""

import lopsided

forecast = lopsided.collapse("120,80,3,3", weight_decay=0.01)
print(forecast.count_needed)

# %%
# Picture

from lopsided.report.collapse import collapse_figure

collapse_figure(forecast)
