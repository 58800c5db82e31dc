"""Mutation templates: small named ways to change one statement, each with its source in the literature.

Priors are relative: how often a template's change was the right one, per place where it applies. Templates
that are right less often than they pass tests (guards, reuse, removal) have a low one.
"""

from __future__ import annotations

from dataclasses import replace

from packages.offline.repair.templates import (
    borrowed_code,
    conditions,
    consistent_edits,
    expression_shape,
    extra_checks,
    guards,
    import_names,
    inserted_statements,
    library_idioms,
    literals,
    member_access,
    names,
    operators,
    regrouped,
    reverts,
    statements,
    string_contents,
    substitutes,
    undefined_names,
    values,
)
from packages.offline.repair.templates.support.project_sources import ProjectSources
from packages.offline.repair.templates.support.source_tree import Source
from packages.offline.repair.templates.support.template_site import BUILTINS, Change, Hints, Site, Template
from packages.offline.repair.templates.support.weights import WEIGHTS

__all__ = [
    "BUILTINS",
    "FILLED",
    "FITTED",
    "OPERATORS",
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
    reverts,
    names,
    undefined_names,
    operators,
    values,
    expression_shape,
    conditions,
    statements,
    consistent_edits,
    regrouped,
    library_idioms,
    borrowed_code,
    string_contents,
    literals,
    substitutes,
    guards,
    import_names,
    extra_checks,
    inserted_statements,
    member_access,
)

_WRITTEN = [each for module in _MODULES for each in vars(module).values() if isinstance(each, Template)]

# The likeliest first: a change of several templates counts for the first of them.
TEMPLATES: tuple[Template, ...] = tuple(sorted(_WRITTEN, key=lambda each: -each.prior))

# The same with fitted priors instead of the written ones.
FITTED: tuple[Template, ...] = tuple(
    sorted(
        (replace(each, prior=each.prior * WEIGHTS.get(each.name, 1.0)) for each in _WRITTEN),
        key=lambda each: -each.prior,
    )
)

OPERATORS: tuple[Template, ...] = tuple(
    each for each in vars(operators).values() if isinstance(each, Template) and each.precision >= 0.95
)
"""Other operators, the least change of a statement: where another change of it passes, each of them may as well."""

FILLED = Template(name="filled", prior=1.0, precision=0.8, changes=lambda site: iter(()))
"""What a model fills in (`packages.offline.infill`), as one more template: its changes are known at run time only."""

PRECISION = {each.name: each.precision for each in (*TEMPLATES, FILLED)}
