"""What all results share: rows, frames, JSON, sentences, and writing them."""
