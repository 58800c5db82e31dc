"""Views of the event stream: plain lines, streamed Markdown, and what both need to be safe and readable."""
