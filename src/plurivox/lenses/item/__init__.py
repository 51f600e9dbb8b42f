"""One item: which scores it got, and from whom."""
