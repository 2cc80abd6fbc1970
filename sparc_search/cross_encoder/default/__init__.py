"""The default English reader: a folder of data files."""
