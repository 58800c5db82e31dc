"""Choice of a few models out of all that a key opens: those for conversations with tools, the newest of each line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field

from agent.model.model_offers import ModelOffer
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

_DATE = compile_lazily(r"-(?:20\d{2}-?\d{2}-?\d{2}|\d{2}-20\d{2}|\d{4})(?:-v\d[\w:.]*)?$|-v\d+:\d+$")
"""End of a name that stands for one build of a model, which has a shorter name, too."""

_OTHER_USES = frozenset(
    (
        *("api", "audio", "computer", "container", "customtools", "cyber", "embedding", "er", "exp"),
        *("experimental", "image", "instruct", "latest", "live", "realtime", "research", "robotics"),
        *("search", "transcribe", "tts"),
    )
)
"""Words of names for other uses than conversations with tools, and for aliases that change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Release:
    """A model's line and version: `gpt-5.6-sol` is (5, 6) of (gpt, sol). A preview comes before its version."""

    line: tuple[str, ...]
    version: tuple[tuple[int, ...], bool]
    offer: ModelOffer = field(repr=False)


def select_newest(offers: Iterable[ModelOffer], most: int) -> list[ModelOffer]:
    """Return at most `most` offers, as many of each provider: the newest of each line of its models."""
    newest: dict[str, dict[tuple[str, ...], _Release]] = {}
    for offer in offers:
        release = _parse_release(offer)
        if release is None:
            continue
        lines = newest.setdefault(offer.name.partition("/")[0], {})
        known = lines.get(release.line)
        if known is None or known.version < release.version:
            lines[release.line] = release
    share = most // max(len(newest), 1)
    return [
        release.offer
        for lines in newest.values()
        for release in sorted(
            sorted(lines.values(), key=lambda each: each.offer.name),
            key=lambda each: each.version,
            reverse=True,
        )[:share]
    ]


def _parse_release(offer: ModelOffer) -> _Release | None:
    """Return the release that a name stands for; None for a dated build and for other uses."""
    name = offer.name.rpartition("/")[2]
    words = name.split("-")
    if _DATE.search(name) or not _OTHER_USES.isdisjoint(words):
        return None
    version = tuple(int(each) for word in words for each in re.findall(r"\d+", word))
    line = tuple(filter(None, (re.sub(r"[\d.]+", "", word) for word in words if word != "preview")))
    return _Release(line=line, version=(version, "preview" not in words), offer=offer)
