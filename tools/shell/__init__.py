"""Commands in the sandbox: the shell tool, background commands and their output."""
