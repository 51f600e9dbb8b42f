"""Small models that learn from few ratings per item to predict the distribution of an item's ratings from its text.

Needs ``pip install 'plurivox[torch]'``. They are honest baselines for :func:`plurivox.soft_scores`: each is trained in
seconds to minutes on a laptop, from the texts and ratings alone, and nothing is downloaded.

>>> import polars as pl
>>> import plurivox as pv
>>> from plurivox import models
>>> texts = pl.DataFrame({"item": range(40), "text": ["how kind", "how rude"] * 20})
>>> given = pl.DataFrame({"item": range(40), "rater": ["a"] * 40, "score": [0, 1] * 20})
>>> model = models.fit(pv.Ratings.from_frame(given), texts, "mlp-ce")
>>> kind, rude = model.shares(["kind", "rude"])
>>> bool(kind[0] > kind[1] and rude[0] < rude[1])
True
"""

from __future__ import annotations

from plurivox.base.errors import MissingExtraError

try:
    import safetensors as _safetensors  # noqa: F401
    import torch as _torch  # noqa: F401
except ImportError:
    raise MissingExtraError("plurivox.models needs PyTorch", "torch") from None

from plurivox.models.fitting import fit
from plurivox.models.kinds import MODELS
from plurivox.models.predictor import Predictor, load
from plurivox.models.training import Epoch, Training
from plurivox.models.training import TrainingSettings as Settings

__all__ = ["MODELS", "Epoch", "Predictor", "Settings", "Training", "fit", "load"]
