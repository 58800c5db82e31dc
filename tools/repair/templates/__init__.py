"""Mutation templates: small named ways to change one statement, each with its source in the literature.

Priors are relative: how often a template's change turned out to be the right one, per place where it
applies. Templates that are right less often than they pass tests (guards, reuse, removal) stand low.
"""

from __future__ import annotations

from dataclasses import replace

from tools.repair.templates import (
    answers,
    borrowed,
    calls,
    clashes,
    conditions,
    earlier,
    elsewhere,
    everywhere,
    forgotten,
    imports,
    joining,
    literals,
    members,
    names,
    operators,
    patterns,
    practice,
    results,
    shape,
    statements,
    substitutes,
    undefined,
    values,
)
from tools.repair.templates.base import BUILTINS, Change, Hints, Site, Template
from tools.repair.templates.package import ProjectSources
from tools.repair.templates.source import Source
from tools.repair.templates.weights import WEIGHTS

__all__ = [
    "BUILTINS",
    "FITTED",
    "PRECISION",
    "TEMPLATES",
    "Change",
    "Hints",
    "ProjectSources",
    "Site",
    "Source",
    "Template",
]

_MODULES = (
    earlier,
    names,
    undefined,
    operators,
    values,
    shape,
    conditions,
    statements,
    everywhere,
    forgotten,
    practice,
    borrowed,
    patterns,
    results,
    calls,
    clashes,
    literals,
    substitutes,
    answers,
    imports,
    joining,
    elsewhere,
    members,
)

_WRITTEN = [each for module in _MODULES for each in vars(module).values() if isinstance(each, Template)]

# The likeliest first: what several templates would say counts for the first of them.
TEMPLATES: tuple[Template, ...] = tuple(sorted(_WRITTEN, key=lambda each: -each.prior))

# The same with the priors that fitting has made of those that are written.
FITTED: tuple[Template, ...] = tuple(
    sorted(
        (replace(each, prior=each.prior * WEIGHTS.get(each.name, 1.0)) for each in _WRITTEN),
        key=lambda each: -each.prior,
    )
)

PRECISION = {each.name: each.precision for each in TEMPLATES}
