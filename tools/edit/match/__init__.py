"""Location of an edit's old text in a file: matchers from exact to approximate."""
