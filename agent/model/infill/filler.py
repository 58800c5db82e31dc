"""The ability of one model to fill gaps: found by asking once, and remembered with what is known of its server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from agent.model.http.http_route import is_loopback
from agent.model.http.json_request import request_json
from agent.model.infill.fill_forms import FORMS, FillForm, Filling, Gap, list_forms
from agent.model.servers.server_facts import NO_FILLS, ServerFacts

PATIENCE = 30.0
"""Seconds for one filling, of which a processor without a graphics card takes one to five."""

LONGEST_PREFIX, LONGEST_SUFFIX, LONGEST_EXTRA = 6_000, 2_000, 3_000
"""Characters around the gap, and of another file, that are sent."""

_TRIAL = Gap(prefix='DAYS = ["Monday", "Tuesday", ', suffix='"Friday", "Saturday", "Sunday"]\n', tokens=16)
"""A gap that no filling closes: an answer with the bracket has not read what follows."""


class Filler:
    """The model behind one server.

    form: in which gaps are sent, None if it was not asked yet; works: whether it fills them, None before it was asked
    on_learned: receives the form, or that there is none
    """

    def __init__(
        self,
        base: str,
        model: str = "",
        key: str = "",
        *,
        program: str = "",
        form: FillForm | None = None,
        on_learned: Callable[[ServerFacts], None] = lambda facts: None,
    ) -> None:
        self._base, self._model, self._program = base, model, program
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._direct = is_loopback(urlsplit(base).hostname or "")
        self._on_learned = on_learned
        self.form = form
        self.works: bool | None = True if form is not None else None

    async def fill(self, gap: Gap) -> Filling | None:
        """Return what the model writes in the gap; None if it writes nothing, or cannot."""
        if not await self.probe() or self.form is None:
            return None
        _, filling = await self._ask(self.form, gap)
        return filling if filling is not None and filling.text.strip() else None

    async def probe(self) -> bool:
        """Return whether the model fills gaps; it is asked once."""
        if self.works is None:
            self.works, was_answered = False, False
            for form in list_forms(self._base, self._model, self._program):
                status, filling = await self._ask(form, _TRIAL)
                was_answered |= status > 0
                if filling is not None and not (form.ignores and "]" in filling.text):
                    self.form, self.works = form, True
                    break
            if was_answered:  # a server that is not there may fill gaps tomorrow
                self._on_learned(ServerFacts(fills=self.form.name if self.form else NO_FILLS))
        return self.works

    async def _ask(self, form: FillForm, gap: Gap) -> tuple[int, Filling | None]:
        """Return the status of the answer, 0 without one, and what was filled in."""
        body = form.body(self._model, _shorten(gap))
        if body is None:
            return 0, None
        status, answer = await asyncio.to_thread(
            request_json, form.url(self._base), self._headers, body,
            silence=PATIENCE, seconds=PATIENCE, direct=self._direct,
        )  # fmt: skip
        return status, form.parse(answer) if status == 200 and isinstance(answer, dict) else None


def find_filler(model: object) -> Filler | None:
    """Return the filler behind a session's model; None if it has no address, or is known to fill no gaps."""
    while (inner := getattr(model, "inner", None)) is not None:
        model = inner
    address: Any = getattr(model, "address", None)
    fills = str(getattr(model, "fills", ""))
    if address is None or fills == NO_FILLS:
        return None
    return Filler(
        str(address.base), str(address.model), str(address.key),
        program=str(getattr(model, "program", "")), form=FORMS.get(fills), on_learned=getattr(model, "learn", _forget),
    )  # fmt: skip


def is_local(model: object) -> bool:
    """Return whether the server of a session's model is on this machine."""
    while (inner := getattr(model, "inner", None)) is not None:
        model = inner
    base = str(getattr(getattr(model, "address", None), "base", ""))
    return bool(base) and is_loopback(urlsplit(base).hostname or "")


def _forget(facts: ServerFacts) -> None:
    """Remember nothing: the model has no memory of servers."""


def _shorten(gap: Gap) -> Gap:
    return replace(
        gap,
        prefix=gap.prefix[-LONGEST_PREFIX:],
        suffix=gap.suffix[:LONGEST_SUFFIX],
        beside=[(name, text[:LONGEST_EXTRA]) for name, text in gap.beside],
    )
