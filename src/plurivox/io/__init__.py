"""Files, frames and databases in; Ratings out; Ratings to Parquet. May use everything up to ``ratings``."""
