"""Search for the fastest equivalent version of a file or function."""
