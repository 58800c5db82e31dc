"""Commands on settings and the published schemas."""
