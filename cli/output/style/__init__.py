"""Terminal abilities, themes and text styles."""
