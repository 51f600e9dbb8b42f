"""What makes a release: built twice to the same bytes, and tried in clean environments."""
