"""Functions that are slow in ways which performance fixes name, and what the rewrites of `optimize` make of them."""
