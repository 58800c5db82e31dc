"""Command line interface: the terminal, one-shot runs, and reports."""
