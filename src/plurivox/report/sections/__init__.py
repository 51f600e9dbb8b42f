"""The sections of a report: what the study is, one for each lens, whose record names it, and the methods."""
