"""One look for every drawing: colours that stay apart for colour-blind readers (Okabe and Ito), sizes, fonts."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#000000")
EMPHASIS = "#d62728"
MARK = "#777777"
HEAT = ("#440154", "#3b528b", "#21918c", "#5ec962", "#fde725")  # viridis
FONT_SIZE = 10.5
PANEL_WIDTH, PANEL_HEIGHT = 5.6, 3.9  # inches
DOTS_PER_INCH = 150


def colour(index: int) -> str:
    """The colour of the series at this position."""
    return COLOURS[index % len(COLOURS)]
