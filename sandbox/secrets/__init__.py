"""Secrets: environment of child processes, secret files and redaction of text."""
