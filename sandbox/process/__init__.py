"""Commands and their processes: start, output, limits, supervision and end."""
