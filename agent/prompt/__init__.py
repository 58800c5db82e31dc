"""The one reader of what a person's prompt wants, forbids and names."""
