"""The cross-encoder: a network that reads question and passage together, for every question anew."""
