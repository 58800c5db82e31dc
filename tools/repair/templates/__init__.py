"""Mutation templates: small named ways to change one statement, each with its source in the literature.

Priors are relative: how often a template's change turned out to be the right one, per place where it
applies. Templates that are right less often than they pass tests (guards, reuse, removal) stand low.
"""

from __future__ import annotations

from tools.repair.templates import conditions, names, operators, shape, statements, values
from tools.repair.templates.base import Change, Hints, Site, Source, Template

__all__ = ["TEMPLATES", "Change", "Hints", "Site", "Source", "Template"]

TEMPLATES: tuple[Template, ...] = tuple(
    each
    for module in (names, operators, values, shape, conditions, statements)
    for each in vars(module).values()
    if isinstance(each, Template)
)
