"""Where the old text of an edit stands in a file: matchers from exact to approximate."""
