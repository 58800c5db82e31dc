"""A match that is to be decided on, as the slip table sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tools.edit.match.matchers import Site, Source
from tools.edit.match.site_search import filter_sites
from tools.edit.stage_values import Alignment, Match, Parsed


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """The match of an edit, and its alignment at the first of its places."""

    source: Source
    parsed: Parsed
    match: Match
    aligned: Alignment

    @property
    def start(self) -> int | None:
        """Offset of the text, if it was found exactly and not as a part of a block's line."""
        return None if self.match.is_part or not self.match.starts else self.match.starts[0]

    def filter_sites(self, sites: Sequence[Site]) -> list[Site]:
        """Return the sites that are where the edit allows them."""
        return filter_sites(self.source, self.match.hunk, self.match.scopes, sites)
