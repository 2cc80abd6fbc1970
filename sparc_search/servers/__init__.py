"""Real search servers on this machine, without Docker: found, fetched, started, watched and stopped."""
