"""Words for how much a model is to think, in the order of their strength."""

from __future__ import annotations

from typing import Literal

Effort = Literal["", "none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""Reasoning effort; "" leaves it to the provider. No provider accepts all of them with every model."""

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
