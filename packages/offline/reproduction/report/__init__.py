"""Fields of a bug report, read from Markdown, reStructuredText or plain text."""
