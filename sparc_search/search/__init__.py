"""From an encoded question to scored answers."""
