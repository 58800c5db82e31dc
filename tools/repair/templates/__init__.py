"""Mutation templates: small named ways to change one statement, each with its source in the literature.

Priors are relative: how often a template's change turned out to be the right one, per place where it
applies. Templates that are right less often than they pass tests (guards, reuse, removal) stand low.
"""

from __future__ import annotations

from tools.repair.templates import (
    conditions,
    everywhere,
    names,
    operators,
    shape,
    statements,
    undefined,
    values,
)
from tools.repair.templates.base import Change, Hints, Site, Source, Template

__all__ = ["PRECISION", "TEMPLATES", "Change", "Hints", "Site", "Source", "Template"]

_MODULES = (names, undefined, operators, values, shape, conditions, statements, everywhere)

# The likeliest first: what several templates would say counts for the first of them.
TEMPLATES: tuple[Template, ...] = tuple(
    sorted(
        (each for module in _MODULES for each in vars(module).values() if isinstance(each, Template)),
        key=lambda each: -each.prior,
    )
)

PRECISION = {each.name: each.precision for each in TEMPLATES}
