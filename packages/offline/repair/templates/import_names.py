"""Templates for failing imports: a misspelt name or module (ImportError, ModuleNotFoundError)."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from packages.offline.repair.templates.support.template_site import Change, Site, template

# Minimum similarity of a replacement name, and maximum number of them.
ALIKE, MOST_NEAR = 0.5, 4


@template(prior=3.0, precision=0.98)
def imported_name(site: Site) -> Iterator[Change]:
    """`from m import totl` fails: use the most similar name of the project (PyTER; ImportError)."""
    if not isinstance(site.statement, ast.ImportFrom):
        return
    module = (site.statement.module or "").rpartition(".")[2]
    for alias in site.statement.names:
        if alias.name not in site.hints.missing_names:
            continue
        of = [each for each in site.project_sources.sources if PurePosixPath(each.path).stem == module]
        known = sorted({name for each in of or site.project_sources.sources for name in each.module_names})
        for near in difflib.get_close_matches(alias.name, known, n=MOST_NEAR, cutoff=ALIKE):
            if alias.asname is None and alias.name in site.source.names:  # the file uses the wrong name
                yield from _replace_word(site, alias.name, f"{near} as {alias.name}")
            yield from _replace_word(site, alias.name, near)


@template(prior=3.0, precision=0.98)
def imported_module(site: Site) -> Iterator[Change]:
    """Replace a missing module by the most similar one of the project, or by one in the file's folder (PyTER)."""
    if not isinstance(site.statement, ast.Import | ast.ImportFrom):
        return
    known = sorted({PurePosixPath(each.path).stem for each in site.project_sources.sources} - {"__init__"})
    text = site.get_text(site.statement)
    for module in sorted(site.hints.missing_modules):
        head, _, last = module.rpartition(".")
        for near in difflib.get_close_matches(last, known, n=MOST_NEAR, cutoff=ALIKE):
            if near != last:
                yield from _replace_word(site, last, near)
        if isinstance(site.statement, ast.ImportFrom) and last in known and not head:
            new = re.sub(rf"^from\s+{re.escape(module)}\b", f"from .{module}", text)
            yield site.rewrite_statement(new, f"`{module}` stands beside this file: `.{module}` is meant")


def _replace_word(site: Site, old: str, new: str) -> Iterator[Change]:
    """Replace one word of the statement; uses of the old one in the file are left to other templates."""
    text = site.get_text(site.statement)
    if re.search(rf"\b{re.escape(old)}\b", text):
        changed = re.sub(rf"\b{re.escape(old)}\b", new, text, count=1)
        yield site.rewrite_statement(changed, f"there is no `{old}` to import; `{new}` is meant")
