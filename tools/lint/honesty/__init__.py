"""Signs that a change makes tests pass without mending the code: pure functions of contents before and after."""
