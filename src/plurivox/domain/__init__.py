"""What plurivox talks about: ratings, scales, axes, answers, predictions, panels, and the checks that make them."""
