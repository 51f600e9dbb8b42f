"""The readers of logs under their name of version 0.2, for one version."""

import warnings

from plurivox.ask.logs import read_inspect_log, read_lm_eval_samples

__all__ = ["read_inspect_log", "read_lm_eval_samples"]

warnings.warn("plurivox.intake.logs is plurivox.ask.logs now", FutureWarning, stacklevel=2)
