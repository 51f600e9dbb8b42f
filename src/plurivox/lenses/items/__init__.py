"""Items: which divide groups, and which deserve more ratings."""
