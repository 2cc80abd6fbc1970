"""Learning from questions: the question side of a model is trained against the phrases of a finished index."""
