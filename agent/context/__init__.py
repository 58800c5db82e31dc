"""How the log becomes the messages that a model is sent."""
