"""Training of the SPARC model (needs the `torch` extra)."""
