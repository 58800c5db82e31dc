"""Task folders and suites: their format, reading and writing."""
