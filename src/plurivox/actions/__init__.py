"""What to do about it: advice, plans, selection and curation, made of results of lenses."""
