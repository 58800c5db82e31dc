"""Search among what a model fills in: asked round by round, judged by the tests as every other candidate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from agent.model.infill.filler import Filler
from packages.offline.infill.filled_statements import iterate_filled_templates
from packages.offline.repair.engine.candidates.candidate_generation import generate_candidates
from packages.offline.repair.engine.candidates.ranking import PlausiblePatch
from packages.offline.repair.engine.patch_search import PatchSearch
from packages.offline.repair.localize.statement_ranking import Suspect
from packages.offline.repair.templates import Hints


async def search_filled(
    make_search: Callable[[str], PatchSearch],
    filler: Filler,
    suspects: Sequence[Suspect],
    hints: Hints,
    read_text: Callable[[str], str],
) -> tuple[PatchSearch, PlausiblePatch | None]:
    """Return the best change that a model fills in at the likeliest places, and the search that found it.

    make_search: returns a search with a name; each round of fillings has one of its own
    """
    search = make_search("filled")
    clock, until = search.replies.clock, search.deadline
    search.on_progress("searching: what the model fills in at the likeliest places")
    beside: list[tuple[str, str]] = []
    for path in dict.fromkeys(test.file for test in search.wanted):
        with suppress(OSError, ValueError):  # tests that come from no file
            beside.append((path, read_text(path)))
    tried = 0
    async for template in iterate_filled_templates(
        filler, suspects, search.sources, beside[:1], lambda: clock.now() < until
    ):
        search = make_search(f"filled{tried}")
        ordered = generate_candidates(suspects, search.sources, hints, fitted=False, templates=[template])
        found = await search.try_single_changes(ordered)
        search.tried = tried = tried + search.tried
        if found is not None:
            return search, found
    return search, None
