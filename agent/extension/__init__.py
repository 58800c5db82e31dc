"""What users and projects add to sessions as files: skills, commands and hooks in the formats of other agents."""
