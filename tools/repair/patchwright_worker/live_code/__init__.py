"""The project's code in the running process: compiled, exchanged, instrumented and called aside."""
