"""Code that a local model fills in between what stands before and after a suspicious place."""
