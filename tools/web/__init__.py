"""Pages and searches of the web, by Patchwright's own process: commands get no network by it."""
