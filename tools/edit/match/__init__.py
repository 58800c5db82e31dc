"""Stage 2 of the pipeline: the places of an edit's old text, by matchers from exact to approximate."""
