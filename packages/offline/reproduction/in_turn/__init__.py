"""The reproduction as a part of a turn: the tool, and the test that may stay in the project."""
