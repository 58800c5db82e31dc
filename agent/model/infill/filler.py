"""The ability of one model to fill gaps: found by asking once, and remembered with what is known of its server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from agent.model.http.http_route import is_loopback
from agent.model.http.json_request import request_json
from agent.model.infill.fill_forms import FORMS, FillForm, Filling, Gap, list_forms
from agent.model.infill.logical_line import measure_logical_line
from agent.model.servers.server_facts import NO_FILLS, ServerFacts

PATIENCE = 30.0
"""Seconds for one filling, of which a processor without a graphics card takes one to five."""

LONGEST_PREFIX, LONGEST_SUFFIX, LONGEST_EXTRA = 3_000, 800, 2_000
"""Characters around the gap, and of another file, that are sent: a processor reads a thousand in 4 to 30 seconds.

The suffix is read anew for each gap, the others only where they differ from those of the gap before.
"""

FORCED_SHARE = 0.4
"""Share of them that is sent to ask the probability of a line: a search waits for it, and what is near tells most."""

SLOWEST_READING, LEAST_SHARE = 12.0, 0.25
"""Seconds that reading a gap anew may take, else less of the text is sent; and the least share of it."""

UNKNOWN_SPEED = 80.0
"""Tokens a second that a server is taken to read before it has told: two cores with 1.5 billion parameters."""

SHORT_REST = 10.0
"""Seconds for which a server is left alone that was late for a short time: it reads on, and takes the processor."""

_CHARACTERS = 3.0
"""Of a token of code, about."""

MOST_MISSED, REST = 2, 60.0
"""Fillings in a row that did not come in time, after which the model is left alone, and seconds for which it is.

A server goes on for a while with what nobody waits for any more, so the next one comes late, too.
"""

PREFIX_STEP = 1_500
"""Characters by which the start of a long prefix moves: gaps near each other have one start, which the server keeps."""

REST_TOKENS = 96
"""Of the lines that close the brackets of a filling: of a call over several lines."""

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
        self._share = self._fitting = 1.0
        self._speed = UNKNOWN_SPEED
        self._probabilities: dict[tuple[str, str, str], tuple[float, int]] = {}
        self._missed = 0
        self._rests_until = self._usual = 0.0

    @property
    def is_resting(self) -> bool:
        """Whether the model is left alone for now, since it was too slow."""
        return time.monotonic() < self._rests_until

    def fit_to(self, seconds: float) -> None:
        """Send no more from now on than the server reads in a third of the time that there is for all fillings."""
        self._fitting = self._compute_share(min(SLOWEST_READING, seconds / 3))

    def _compute_share(self, seconds: float) -> float:
        """Return the share of the longest text that the server reads in a time, `LEAST_SHARE` at least."""
        whole = LONGEST_PREFIX + LONGEST_SUFFIX + LONGEST_EXTRA
        return min(1.0, max(LEAST_SHARE, self._speed * seconds * _CHARACTERS / whole))

    async def fill(self, gap: Gap) -> Filling | None:
        """Return what the model writes in the gap; None if it writes nothing, or cannot, or not in time.

        Where the gap is of one line, and its brackets are still open there, the rest is asked for.
        """
        if not await self.probe() or self.form is None:
            return None
        _, filling = await self._ask(self.form, gap)
        if filling is None or not filling.text.strip():
            return None
        if gap.stop == ("\n",) and measure_logical_line(filling.text) is None:
            return await self._ask_rest(self.form, gap, filling)
        return filling

    async def _ask_rest(self, form: FillForm, gap: Gap, begun: Filling) -> Filling:
        """Return a filling with the lines in which its brackets are closed, if the model writes them."""
        start = begun.text.rstrip() + "\n"
        _, rest = await self._ask(form, replace(gap, prefix=gap.prefix + start, stop=(), tokens=REST_TOKENS))
        text = start + (rest.text if rest is not None else "")
        length = measure_logical_line(text)
        if rest is None or length is None:
            return begun  # what follows the gap may close them
        scores = begun.scores + rest.scores
        score = sum(value for _, value in scores) / len(scores) if scores else begun.score
        return Filling(text=text[:length], score=score, scores=scores)

    async def tells_probabilities(self) -> bool:
        """Return whether the server can be made to write a given text and tells its probability."""
        return await self.probe() and self.form is not None and self.form.forces

    async def measure_probability(self, gap: Gap) -> tuple[float, int] | None:
        """Return the log-probability of the text that a gap forces, its end there included, and of how many tokens.

        None if it is not told.
        """
        if not await self.tells_probabilities() or self.form is None:
            return None
        near = _shorten(gap, FORCED_SHARE)  # whole files would be kept for the session
        key = (near.prefix, gap.forced, near.suffix)
        if key in self._probabilities:  # of the old lines, which all changes of a statement have in common
            return self._probabilities[key]
        _, filling = await self._ask(self.form, gap)
        if filling is None or not filling.scores or filling.text != gap.forced.rstrip():
            return None
        self._probabilities[key] = sum(value for _, value in filling.scores), len(filling.scores)
        return self._probabilities[key]

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
        share = min(self._share, self._fitting, FORCED_SHARE if gap.forced else 1.0)
        near = _shorten(gap, share)
        body = form.body(self._model, near)
        if body is None or self.is_resting or gap.seconds < self._usual_seconds(near):
            return 0, None
        seconds, began = min(PATIENCE, gap.seconds), time.monotonic()
        status, answer = await asyncio.to_thread(
            request_json, form.url(self._base), self._headers, body,
            silence=seconds, seconds=seconds, direct=self._direct,
        )  # fmt: skip
        filling = form.parse(answer) if status == 200 and isinstance(answer, dict) else None
        self._adapt(status, filling, seconds)
        if filling is not None and not gap.forced:
            self._usual = time.monotonic() - began
        return status, filling

    def _usual_seconds(self, gap: Gap) -> float:
        """Return the seconds that an answer takes: as long as the last one, the first as long as its text is read.

        A server that is asked for what it cannot finish in time reads on, and takes the processor from the tests.
        """
        sent = len(gap.prefix) + len(gap.suffix) + sum(len(text) for _, text in gap.beside)
        return self._usual or sent / _CHARACTERS / self._speed

    def _adapt(self, status: int, filling: Filling | None, seconds: float) -> None:
        """Send less to a server that reads slowly, and nothing for a while to one that does not answer in time.

        Less is never followed by more: with another beginning the server has to read all of it anew.
        """
        if status:
            self._missed = 0
        elif seconds >= PATIENCE:
            self._missed += 1
            self._share = max(LEAST_SHARE, self._share / 2)
        else:
            self._rests_until = time.monotonic() + SHORT_REST
        if self._missed >= MOST_MISSED:
            self._missed, self._rests_until = 0, time.monotonic() + REST
        if filling is not None and filling.speed:
            self._speed = filling.speed
            self._share = min(self._share, self._compute_share(SLOWEST_READING))


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


def _shorten(gap: Gap, share: float) -> Gap:
    prefix, suffix, extra, step = (
        int(each * share) for each in (LONGEST_PREFIX, LONGEST_SUFFIX, LONGEST_EXTRA, PREFIX_STEP)
    )
    excess = max(0, len(gap.prefix) - prefix)
    start = -(-excess // step) * step
    return replace(
        gap,
        prefix=gap.prefix[gap.prefix.find("\n", start) + 1 or start :] if start else gap.prefix,
        suffix=gap.suffix[:suffix],
        beside=[(name, text[:extra]) for name, text in gap.beside],
    )
