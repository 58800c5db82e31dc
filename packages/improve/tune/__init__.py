"""Guidelines that are chosen by an evaluation suite, as versioned overlays."""
