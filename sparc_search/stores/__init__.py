"""Where passages, phrase blocks, postings and vectors are kept."""
