"""Commands of this package, and what a server offers of it."""
