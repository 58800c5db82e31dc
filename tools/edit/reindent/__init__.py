"""Stage 4 of the pipeline: the new text in the style of the file: indentation, quotes, words."""
