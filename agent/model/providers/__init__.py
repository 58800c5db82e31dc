"""Provider endpoints, prices and context windows, model families."""
