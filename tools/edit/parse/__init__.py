"""Stage 1 of the pipeline: the readings of an edit, without the wrappings that models leave in a text."""
