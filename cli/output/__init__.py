"""Views of the event stream: plain lines, streamed Markdown, and their sanitizing and formatting."""
