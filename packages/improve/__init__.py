"""Improvements that are adopted only where a measurement shows them: faster code (`patchwright optimize`)."""
