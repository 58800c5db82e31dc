"""The offline engine: repairs failing tests without a model."""
