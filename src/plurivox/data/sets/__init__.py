"""One module per data set, with its records as ``DATASETS``."""
