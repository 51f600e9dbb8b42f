"""Selection: the most responsive raters of every group."""
