"""Statistics of results: plain numbers in, plain numbers out."""
