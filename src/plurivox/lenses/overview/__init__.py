"""Overview: what a table of ratings holds, and how raters use the scale."""
