"""Skills that are learned: procedures of verified sessions, replayed before they are kept."""
