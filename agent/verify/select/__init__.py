"""Selection among candidate changes or programs by evidence, the strongest kind first."""
