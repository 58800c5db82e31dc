"""`team`: roles that hand typed artefacts on, from the brief to code that is chosen by what ran."""
