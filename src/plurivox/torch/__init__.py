"""Losses for predicted rating distributions, in PyTorch: soft scores that a model can be trained on.

Needs ``pip install 'plurivox[torch]'``. Each loss is the function of :mod:`plurivox.statistics` with the same name, on
CPU or GPU, in float32 or float64, with gradients in the prediction. *Empirical* losses compare a prediction with the
shares of an item's ratings; *expected* ones average over the posterior distributions, given the ratings and a prior.

>>> import torch
>>> from plurivox.torch import expected_emd
>>> logits = torch.zeros(2, 3, dtype=torch.float64, requires_grad=True)
>>> loss = expected_emd([[2, 0, 0], [0, 1, 4]], logits, from_logits=True)
>>> loss.backward()
>>> round(loss.item(), 4), logits.grad[0].numpy().round(4)
(0.2469, array([-0.06  ,  0.0048,  0.0552]))
"""

from plurivox.base.errors import MissingExtraError

try:
    import torch as torch
except ImportError:
    raise MissingExtraError("plurivox.torch needs PyTorch", "torch") from None

from plurivox.torch.inputs import empirical_target, posterior_target, smoothed_target
from plurivox.torch.losses import (
    cross_entropy,
    emd,
    expected_cross_entropy,
    expected_emd,
    expected_js,
    expected_kl,
    expected_rps,
    js,
    kl,
    rps,
)

__all__ = [
    "cross_entropy", "emd", "empirical_target", "expected_cross_entropy", "expected_emd", "expected_js", "expected_kl",
    "expected_rps", "js", "kl", "posterior_target", "rps", "smoothed_target",
]  # fmt: skip
