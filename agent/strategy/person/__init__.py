"""The person's part of a turn of several attempts: the tree that they see, and what they decide in it."""
