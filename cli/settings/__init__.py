"""Settings: their types, layers and checks."""
