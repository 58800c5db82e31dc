"""Parser of bash source: words, tokens, expansion, and a cross-check against a second parser."""
