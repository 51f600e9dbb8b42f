"""Packed studies: folders of coded ratings, cut into parts that are mapped into memory one at a time."""
