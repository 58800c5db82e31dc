"""Stage 3 of the pipeline: the edit's lines beside the file's lines at a place."""
