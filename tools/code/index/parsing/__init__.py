"""Facts of one file: symbols, imports, names and words, read from its text alone."""
