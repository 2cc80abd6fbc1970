"""Corpus readers, and the pipeline from files to an index."""
