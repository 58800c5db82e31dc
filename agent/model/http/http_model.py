"""A model behind an HTTP endpoint in any wire format: requests, retries and error reports."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from agent.model.http.http_client import IDLE_TIMEOUT, Answer, HttpClient, WireError
from agent.model.http.refused_items import RefusedItems
from agent.model.http.retry import TRIES, RetryBudget, TransientError
from agent.model.protocol import (
    ContextOverflow,
    CutOff,
    Delta,
    Reply,
    Request,
    RetryWait,
    ToolsRefused,
    Usage,
)
from agent.model.providers.model_catalog import DEFAULT_WINDOW, Listing
from agent.model.servers.server_facts import ServerFacts
from agent.model.wire_formats.kept_parts import name_endpoint, stamp_endpoint
from agent.model.wire_formats.wire_protocol import Assembler, Wire
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from agent.model.rate_limits.rate_gate import RateGate
    from agent.model.wire_formats.reply_bounds import ReplyTooLarge

NO_NETWORK = (
    "Connect this machine to the network, or name a model that needs none: --model offline, or a local server"
)

_ERROR_BYTES = 1 << 16
"""Bytes of an error page that are read: its first words are shown, the connection is kept if that was all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAddress:
    """Address of a model.

    name: of the model as the user writes it; model: as the endpoint calls it
    base: the address without the format's path (which is removed if present)
    key: "" where none is needed; key_variable: where it came from, for messages
    """

    name: str
    model: str
    base: str
    key: str = ""
    key_variable: str = ""


class HttpModel:
    """A model behind `{place.base}{wire.path}`.

    wire: the wire format of the endpoint
    window: in tokens; None if not known, then taken from `listing` after a reply
    listing: looks up window and prices; called once, after the first reply
    on_notice: receives one line for every wait before a retry
    instead: creates the format to use if the endpoint says that it serves the model in that one only
    ask_server: asks the server about the model; called once, before the first request, if the window is not known
    on_learned: receives facts that a request or an answer has shown
    idle_timeout: seconds of silence after which an answer is given up
    patience: number and length of waits for one request
    gate: that each request passes before it is sent; None: no limit
    """

    def __init__(
        self,
        place: ModelAddress,
        *,
        wire: Wire,
        window: int | None = None,
        listing: Callable[[], Listing | None] = lambda: None,
        on_notice: Callable[[str], None] = lambda text: None,
        instead: Callable[[], Wire] | None = None,
        ask_server: Callable[[], Awaitable[ServerFacts | None]] | None = None,
        on_learned: Callable[[ServerFacts], None] = lambda facts: None,
        idle_timeout: float = IDLE_TIMEOUT,
        patience: Callable[[], RetryBudget] = RetryBudget,
        gate: RateGate | None = None,
    ) -> None:
        self.name = place.name
        self.window = window or DEFAULT_WINDOW
        self.on_notice = on_notice
        self.address = place
        self._base = place.base.rstrip("/").removesuffix(wire.path)
        self._key = _validate_key(place.key, place.key_variable)
        self._window_known = window is not None
        self._find = listing
        self._listing: Listing | None = None
        self._looking: threading.Thread | None = None
        self._looked_up = False
        self._refused = RefusedItems()
        self._instead = instead
        self._ask_server = ask_server
        self._on_learned = on_learned
        self.takes_tools: bool | None = None
        self.program = self.fills = ""
        self._idle_timeout = idle_timeout
        self._patience = patience
        self._gate = gate
        self._use_wire(wire)

    def move(self, place: ModelAddress) -> None:
        """Send the next requests to another address."""
        if place != self.address:
            self._client.close()
            self.address = place
            self._base = place.base.rstrip("/").removesuffix(self._wire.path)
            self._key = _validate_key(place.key, place.key_variable)
            self._use_wire(self._wire)

    def _use_wire(self, wire: Wire) -> None:
        self._wire = wire
        self.url = self._base + wire.path
        wire.endpoint = name_endpoint(self.url)
        self._client = HttpClient(self.url, idle_timeout=self._idle_timeout)

    @property
    def wire(self) -> Wire:
        """The wire format in use, as changed by refusals."""
        return self._wire

    def learn(self, facts: ServerFacts) -> None:
        """Remember facts about the server beyond this process."""
        self.fills = facts.fills or self.fills
        self._on_learned(facts)

    async def prepare(self) -> None:
        """Learn the window from the server, once, if nobody has told it (see `prepare_model`)."""
        ask, self._ask_server = self._ask_server, None
        if ask is None or self._window_known or (facts := await ask()) is None:
            return
        self.takes_tools, self.program = facts.tools, facts.program
        if facts.window:
            self.window, self._window_known = facts.window, True
        self._on_learned(facts)

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """See `Model.stream`. Retries up to three times, while no part of an answer can have been shown."""
        patience, told = self._patience(), ""
        attempt = self._attempt_request
        if self._gate is not None:
            attempt = partial(self._attempt_admitted, self._gate)
        while True:
            try:
                async with aclosing(attempt(request)) as deltas:
                    async for delta in deltas:
                        yield delta
                return
            except _Concession:
                continue
            except TransientError as passing:
                useless = 0 < passing.tries <= patience.tries
                pause = None if useless else patience.next_pause(passing.asked)
                if pause is None:
                    raise self._build_unreachable_error(passing, patience.tries) from None
                reason, told = "the same again" if passing.reason == told else passing.reason, passing.reason
                self.on_notice(f"{reason}; trying again in {pause:.1f} s ({patience.tries} of {TRIES})")
                yield RetryWait(
                    reason=passing.kind, seconds=pause, attempt=patience.tries, tries=passing.tries or TRIES
                )
                await asyncio.sleep(pause)

    async def close(self) -> None:
        """See `Model.close`."""
        self._client.close()

    def price(self, usage: Usage) -> float | None:
        """Return the US dollars of a call with this usage; None if the model's price is not known. Looks it up once."""
        self._look_up_listing()
        return self._listing.compute_cost(usage, self._wire.tier) if self._listing else None

    async def _attempt_admitted(self, gate: RateGate, request: Request) -> AsyncGenerator[Delta, None]:
        """Attempt a request as soon as its limits allow."""
        admission = await gate.admit(len(self._wire.body(request)), self.on_notice)
        is_answered = False
        try:
            async with aclosing(self._attempt_request(request)) as deltas:
                async for delta in deltas:
                    is_answered = True
                    if isinstance(delta, Reply):
                        admission.finish(delta.usage)
                    yield delta
        except (TransientError, UserError, _Concession):
            if not is_answered:
                admission.refuse()
            raise

    async def _attempt_request(self, request: Request) -> AsyncGenerator[Delta, None]:
        request = self._refused.apply(request)
        body = self._wire.body(request)
        try:
            answer = await self._client.post(self._headers(), body)
        except WireError as error:
            raise self._classify_wire_error(error, self._wire.create_assembler()) from None
        from agent.model.http.answer_stream import iter_deltas  # after the request, not before
        from agent.model.wire_formats.reply_bounds import ReplyTooLarge

        assembler = self._wire.create_assembler()
        try:
            if answer.status != 200:
                raise self._handle_refusal(answer, await answer.read(_ERROR_BYTES), request, body)
            self._begin_look_up()
            find_error = partial(self._find_error, assembler=assembler)
            async with aclosing(iter_deltas(answer, assembler, self.url, find_error)) as deltas:
                async for delta in deltas:
                    yield delta
        except ReplyTooLarge as error:
            answer.abandon()
            raise self._build_bound_error(error, assembler) from None
        except WireError as error:
            answer.abandon()
            if error.damaged or not assembler.finished:  # else only the end of the stream is missing
                raise self._classify_wire_error(error, assembler) from None
        except BaseException:  # cancelled, closed early, or refused: the rest is not needed
            answer.abandon()
            raise
        reply = self._build_reply(assembler)
        if notice := self._refused.accept(request):
            self.on_notice(notice)
        yield reply

    def _find_error(self, piece: Mapping[str, Any], assembler: Assembler) -> Exception | None:
        """Return the error that a chunk reports, None for a part of a reply."""
        told = self._wire.parse_error(piece)
        if told is None:
            return None
        status, details = told
        error = self._classify_failure(status, {}, json.dumps({"error": details}).encode())
        if assembler.spoke and isinstance(error, TransientError):
            return self._build_cut_off_error(error.reason)
        return error

    def _build_reply(self, assembler: Assembler) -> Reply:
        from agent.model.http.answer_stream import MISSHAPEN

        try:
            usage = assembler.usage
            reply = assembler.build_reply(usage)
            reply = replace(reply, kept=stamp_endpoint(reply.kept, self._wire.endpoint))
        except MISSHAPEN:
            error = WireError("it sent a reply with parts of another shape")
            raise self._classify_wire_error(error, assembler) from None
        self._look_up_listing()
        if usage.cost is None and self._listing and usage.input:
            reply = replace(
                reply, usage=replace(usage, cost=self._listing.compute_cost(usage, self._wire.tier))
            )
        return reply

    def _begin_look_up(self) -> None:
        """Look the model up beside its answer: the first time of all, that takes a second."""
        if self._looking is None and not self._looked_up:
            self._looking = threading.Thread(target=self._find_listing, name="model-listing", daemon=True)
            self._looking.start()

    def _find_listing(self) -> None:
        self._listing = self._find()

    def _look_up_listing(self) -> None:
        if not self._looked_up:
            self._looked_up = True
            if self._looking is not None:
                self._looking.join()
            else:
                self._find_listing()
            if self._listing and self._listing.window and not self._window_known:
                self.window = self._listing.window

    def _headers(self) -> dict[str, str]:
        return {
            "Content-Type": "application/json",
            "Accept": "text/event-stream, application/json",
            "User-Agent": "patchwright",
            **self._wire.headers(self._key),
        }

    def _classify_wire_error(self, error: WireError, assembler: Assembler) -> Exception:
        if error.lasting:
            return UserError(
                Fault.MODEL_UNREACHABLE,
                f"{self.url}: {error.reason}",
                "If you trust the server, name its certificates' file in SSL_CERT_FILE",
            )
        if assembler.spoke:  # shown already: a retry would repeat it
            return self._build_cut_off_error(f"{self.url}: {error.reason}")
        return TransientError(
            f"{self.url}: {error.reason}",
            tries=2 if error.absent else 0,
            kind="no network" if error.unconnected else "no connection",
            hint=NO_NETWORK if error.unconnected else "",
        )

    def _build_bound_error(self, error: ReplyTooLarge, assembler: Assembler) -> UserError:
        """Return the error of an answer that no model gives: it is not asked for again as it was."""
        reason = f"{self.url} sent {error.what}"
        if assembler.spoke:
            return self._build_cut_off_error(reason)
        hint = "Nothing of it was run. Look at what answers there, or use another model"
        return UserError(Fault.MODEL_UNREACHABLE, reason, hint)

    def _build_cut_off_error(self, reason: str) -> CutOff:
        return CutOff(
            Fault.MODEL_UNREACHABLE,
            f"{reason} in the middle of a reply",
            "What came before it is kept; ask to go on, or resume the session",
        )

    def _build_unreachable_error(self, passing: TransientError, tries: int) -> UserError:
        if passing.asked is not None:
            hint = f"The server asks to wait {passing.asked:.0f} s: try again then, or use another model"
        elif passing.hint:
            hint = passing.hint
        else:
            hint = "Check that the server runs and the address is right (--api-base), or use another model"
        return UserError(Fault.MODEL_UNREACHABLE, f"{passing.reason} (tried {tries} times)", hint)

    def _handle_refusal(self, answer: Answer, said: bytes, request: Request, body: bytes) -> Exception:
        """Return the error of a refused request; _Concession if another one is worth sending at once."""
        from agent.model.http.error_responses import parse_error_body

        text = said.decode("utf-8", "replace")
        if answer.status in (400, 404) and self._instead is not None and "/responses" in text:
            self._client.close()
            self._use_wire(self._instead())
            self._instead = None
            return _Concession()
        error = self._classify_failure(answer.status, answer.headers, said)
        # A body that is too large may be so by its images.
        if isinstance(error, ToolsRefused) or (isinstance(error, ContextOverflow) and answer.status != 413):
            return error
        is_template_fault = answer.status == 500 and "NoneType" in text  # at a message without content
        if (answer.status in (400, 422) or is_template_fault) and self._wire.adapt_to_refusal(text):
            return _Concession()
        _, message = parse_error_body(said)
        return _Concession() if self._refused.find(request, body, answer.status, message) else error

    def _classify_failure(self, status: int, headers: Mapping[str, str], body: bytes) -> Exception:
        from agent.model.http.error_responses import RequestTarget, classify_failure

        place = self.address
        asked = RequestTarget(url=self.url, model=place.model, key=self._key, variable=place.key_variable)
        error = classify_failure(asked, status, headers, body)
        if isinstance(error, ContextOverflow) and error.limit:
            self.window, self._window_known = error.limit, True
            self._on_learned(ServerFacts(window=error.limit, window_source="a refusal"))
        return error


class _Concession(Exception):
    """The request was refused for its form, and the form has been changed: retry at once."""


def _validate_key(key: str, variable: str) -> str:
    if key.isascii() and (key.isprintable() or not key):
        return key
    message = f"{variable or 'the API key'} holds characters that no key has"
    raise UserError(
        Fault.CREDENTIALS, message, "Copy it again, without line breaks or dots in place of letters"
    )
