"""Parser of bash source: words, tokens, expansion and a second parser to compare with."""
