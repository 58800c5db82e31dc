"""Live code of the project: compiled, exchanged, instrumented, and called separately."""
