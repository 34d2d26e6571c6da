"""The forecast of lost classes from counts and training settings that commands show, by the recipe that scored best.

`lopsided skill` scores every recipe by name. Among those that need no run of the network, `merging_law` was best on the
development half. If only the final training loss of a pilot run is known, it is "survival with pilot" (`survival_law`).
If the angles of a pilot are known, call `merging_law` itself.
"""

from typing import Any

from lopsided.core.counts import CountsLike
from lopsided.theory.merging_law import merging_forecast
from lopsided.theory.survival_law import SurvivalForecast, survival_forecast
from lopsided.theory.training_settings import TrainingSettings


def network_forecast(
    counts: CountsLike,
    *,
    weight_decay: float,
    step: float,
    batch_size: int,
    momentum: float = 0.0,
    hidden_layers: int = 2,
    convolutional: bool = False,
    pilot_loss: float | None = None,
) -> SurvivalForecast:
    """f*, survival and cosines of a network with BatchNorm under SGD; its `recipe` says which law was used."""
    known: dict[str, Any] = {"weight_decay": weight_decay, "step": step, "batch_size": batch_size}
    known |= {"momentum": momentum, "hidden_layers": hidden_layers}
    if pilot_loss is not None:
        return survival_forecast(counts, **known, pilot_loss=pilot_loss)
    return merging_forecast(counts, TrainingSettings(**known, convolutional=convolutional))
