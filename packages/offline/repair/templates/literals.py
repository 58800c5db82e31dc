"""Templates for literals: kinds of strings, displays with an element too few or too many."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packages.offline.repair.templates.support.template_site import Change, Site, template
from sandbox.lazy_pattern import compile_lazily

MOST_ELEMENTS, MOST_OTHERS = 40, 16
_PREFIX = compile_lazily(r"^([A-Za-z]*)(?=['\"])")
# By whether it is raw, and whether it is bytes.
_PREFIXES = {(False, False): "", (False, True): "b", (True, False): "r", (True, True): "rb"}
_ESCAPE = compile_lazily(r"(?s)\\(.)")
_ESCAPES = "\n\\'\"abfnrtvx01234567"  # those of bytes: of text, `\N` and `\u` are not worth a rule


@template(prior=0.4, precision=0.9)
def string_kind(site: Site) -> Iterator[Change]:
    """Change the kind of a string, text, bytes or raw: `'…'`, `b'…'`, `r'…'` (PyTER; TBar FP9)."""
    for node in site.nodes:
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)):
            continue
        start = site.source.get_span(node)[0]
        found = _PREFIX.match(site.get_text(node))
        if found is None:
            continue
        text = site.get_text(node)
        for new in _list_other_prefixes(found[1].lower(), text):
            why = f"`{text[:40]}` is of the wrong kind: `{new or 'no'}` prefix"
            yield Change(start=start, end=start + len(found[1]), text=new, why=why)


def _list_other_prefixes(old: str, text: str) -> list[str]:
    """Return the prefixes that make a literal bytes or text, or raw or not raw if that makes a difference.

    A raw literal stays raw, and one with escapes that only a regular expression knows does, too.
    """
    is_raw, is_bytes = "r" in old, "b" in old
    found = [_PREFIXES[is_raw, not is_bytes]]
    if "\\" in text and (not is_raw or all(each in _ESCAPES for each in _ESCAPE.findall(text))):
        found.append(_PREFIXES[not is_raw, is_bytes])
    return found


@template(prior=0.35, precision=0.8)
def element_alike(site: Site) -> Iterator[Change]:
    """Add a name of the same kind to a display: `(T.Name, T.Number)` lacks `T.String` (plastic surgery)."""
    for node in site.nodes:
        if not isinstance(node, ast.List | ast.Tuple | ast.Set) or not isinstance(
            getattr(node, "ctx", ast.Load()), ast.Load
        ):
            continue
        held = [site.get_text(each) for each in node.elts]
        if not 0 < len(held) <= MOST_ELEMENTS or "\n" in held[-1]:
            continue
        end = site.source.get_span(node.elts[-1])[1]
        for text in [each for each in _list_siblings(site, node.elts[-1]) if each not in held][:MOST_OTHERS]:
            yield Change(start=end, end=end, text=f", {text}", why=f"`{text}` is missing")


@template(prior=0.4, precision=0.7)
def element_too_many(site: Site) -> Iterator[Change]:
    """Remove an element from a display (TBar FP15; mutation operators inverted)."""
    for node in site.nodes:
        if isinstance(node, ast.List | ast.Tuple | ast.Set) and isinstance(
            getattr(node, "ctx", ast.Load()), ast.Load
        ):
            if not 1 < len(node.elts) <= MOST_ELEMENTS:
                continue
            spans = [site.source.get_span(each) for each in node.elts]
            for place, (start, end) in enumerate(spans):
                why = f"`{site.get_text(node.elts[place])[:40]}` should not be there"
                if place + 1 < len(spans):
                    yield Change(start=start, end=spans[place + 1][0], text="", why=why)
                elif len(spans) > 2 or not isinstance(node, ast.Tuple):
                    yield Change(start=spans[place - 1][1], end=end, text="", why=why)


def _list_siblings(site: Site, node: ast.expr) -> list[str]:
    """Return others of the kind: members of the same module or class, other classes, texts of the same displays."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        above = site.source.parents.get(node)
        held = above.elts if isinstance(above, ast.List | ast.Tuple | ast.Set) else [node]
        texts = {
            each.value for each in held if isinstance(each, ast.Constant) and isinstance(each.value, str)
        }
        return [repr(text) for text in site.project_sources.count_neighbours(frozenset(texts))]
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        members = site.project_sources.count_members(node.value.id)
        same = [name for name, _ in members.most_common() if name[:1].isupper() == node.attr[:1].isupper()]
        return [f"{node.value.id}.{name}" for name in same]
    if isinstance(node, ast.Name):
        kind = type(site.source.module_names.get(node.id))
        others = [n for n, by in site.source.module_names.items() if type(by) is kind]
        return [name for name in others if name[:1].isupper() == node.id[:1].isupper()]
    return []
