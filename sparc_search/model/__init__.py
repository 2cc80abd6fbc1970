"""The SPARC model: network, encoders, files, and what happens after the network."""
