"""Sandboxes that run commands: bubblewrap, Landlock, Seatbelt, containers, none."""
