"""Stage 5 of the pipeline: the edit at its one place, or a refusal if another explanation gives another result."""
