"""How a sum over items is made: on parts of the ratings, for every draw, by whoever has time."""
