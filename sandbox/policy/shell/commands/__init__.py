"""Effects of single commands: tables of programs, options, builtins and git."""
