"""Packages beside the floors: the floors find them by `extensions.json` and import none of them."""
