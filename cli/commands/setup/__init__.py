"""Commands on the machine and the repository: doctor, demo, trust, init."""
