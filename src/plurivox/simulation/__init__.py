"""Rating studies with a known truth."""
