"""The forecast of merging classes of every epoch, from what the epochs before it left: the class means of the training
features, which not every epoch measures, and the latest forecast, which stands until settings or counts change."""

from dataclasses import replace

import numpy as np

from lopsided.core.validation import FloatArray
from lopsided.torch.monitor.class_sums import SumsSnapshot
from lopsided.torch.monitor.run_forecast import RunForecast, run_forecast
from lopsided.torch.monitor.run_settings import RunSettings


class LatestForecast:
    """Forecasts epoch after epoch; `own_input` says whether the features are the head's input."""

    def __init__(self, *, own_input: bool) -> None:
        self._own_input = own_input
        self.class_means: FloatArray | None = None  # of the latest epoch in which they were taken

    def look(
        self,
        settings: RunSettings,
        counts: FloatArray,
        weight: FloatArray,
        train: SumsSnapshot | None,
        latest: RunForecast | None,
        *,
        full: bool,
        spectra: bool,
    ) -> RunForecast:
        """The forecast of this epoch; `latest` is that of the epoch before."""
        finite = bool(np.isfinite(weight).all())
        if train is not None and train.means is not None:
            self.class_means = train.means
        if not full and finite and latest is not None and latest.holds(settings, counts):
            return replace(latest, settings=settings)
        return run_forecast(
            settings,
            counts,
            weight if finite else np.zeros_like(weight),
            self.class_means if train is not None and finite and self._own_input else None,
            "relu" if self.class_means is not None and bool((np.nan_to_num(self.class_means) >= 0).all()) else "free",
            spectra=spectra,
        )
