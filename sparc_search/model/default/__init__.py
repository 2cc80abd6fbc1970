"""The default English model: a folder of data files."""
