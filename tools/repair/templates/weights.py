"""What fitting has made of the templates' priors: each is multiplied by its weight (`benchmarks/repair/fit.py`)."""

from __future__ import annotations

WEIGHTS: dict[str, float] = {}
