"""Templates that revert changes: the text as committed, or as it was before one of the last commits."""

from __future__ import annotations

from collections.abc import Iterator

from packages.offline.repair.templates.support.template_site import Change, Site, template


# Less than for a change that the failure names: that one mends a person's work instead of taking it back.
@template(prior=4.0, precision=0.95)
def as_committed(site: Site) -> Iterator[Change]:
    """Revert an uncommitted change (delta debugging: Zeller 1999). It names the suspect and is written by request."""
    for hunk in site.source.hunks_at.get(site.statement, ()):
        if not hunk.since:
            why = "what was changed there since the last commit should be as it was"
            yield Change(start=hunk.start, end=hunk.end, text=hunk.text, why=why)


@template(prior=1.5, precision=0.85)
def as_it_was(site: Site) -> Iterator[Change]:
    """Revert a change of one of the last commits (delta debugging: Zeller 1999)."""
    for hunk in site.source.hunks_at.get(site.statement, ()):
        if hunk.since:
            why = f"what commit {hunk.since} changed there should be as it was"
            yield Change(start=hunk.start, end=hunk.end, text=hunk.text, why=why)
