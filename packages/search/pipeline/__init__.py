"""`pipeline`: localise without a model, ask once for each patch, and choose by what runs."""
