"""What to do about it: advice, plans, selection and curation, made from the results of lenses."""
