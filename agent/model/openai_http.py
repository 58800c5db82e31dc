"""Models behind a chat-completions endpoint (OpenAI's own and the many that speak its language)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from agent.model.base import Delta, ReasoningDelta, Reply, Request, TextDelta, ToolSpec
from agent.model.catalog import DEFAULT_WINDOW, Listing
from agent.model.chat_wire import Assembler, EventParser, encode, message_json, tool_json
from agent.model.http import Answer, HttpClient, WireError
from agent.model.retry import PASSING, TRIES, Patience, retry_after
from sandbox.errors import Fault, UserError

_ERROR_BYTES = 1 << 16
"""How much of an error page is read: its first words are shown, the connection is kept if that was all."""


@dataclass(slots=True, kw_only=True)
class Dialect:
    """Where endpoints differ.

    usage: asks for token counts in the stream
    reasoning: sends the model's reasoning back to it
    limit: what the output limit is called
    """

    usage: bool = True
    reasoning: bool = False
    limit: str = "max_tokens"


_CONCESSIONS: Mapping[str, Mapping[str, bool | str]] = {
    "max_completion_tokens": {"limit": "max_completion_tokens"},
    "reasoning_content": {"reasoning": True},
    "stream_options": {"usage": False},
    "include_usage": {"usage": False},
}
"""What an endpoint's refusal (400 or 422) speaks of, and how to speak to it from then on."""


class OpenAIChat:
    """A model behind `{api_base}/chat/completions`.

    name: as the user writes it; model: as the endpoint calls it
    window: in tokens; None if not known, then taken from `listing` once a reply has come
    key_variable: where the key came from, for messages
    listing: looks up window and prices; called once, after the first reply
    on_notice: told in one line of every wait before another try
    """

    def __init__(
        self,
        name: str,
        model: str,
        api_base: str,
        api_key: str | None,
        window: int | None = None,
        *,
        dialect: Dialect | None = None,
        key_variable: str = "",
        listing: Callable[[], Listing | None] = lambda: None,
        on_notice: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.name = name
        self.window = window or DEFAULT_WINDOW
        self.on_notice = on_notice
        self.url = api_base.rstrip("/").removesuffix("/chat/completions") + "/chat/completions"
        self._model = model
        self._key = _checked(api_key or "", key_variable)
        self._key_variable = key_variable
        self._dialect = dialect or Dialect()
        self._window_known = window is not None
        self._find = listing
        self._listing: Listing | None = None
        self._looked_up = False
        self._client = HttpClient(self.url)
        self._fixed: _Fixed | None = None

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """See `Model.stream`. Asks again, up to four times, while nothing can have been seen of an answer."""
        patience = Patience()
        while True:
            try:
                async with aclosing(self._attempt(request)) as deltas:
                    async for delta in deltas:
                        yield delta
                return
            except _Concession:
                continue
            except _Passing as passing:
                pause = patience.pause(passing.asked)
                if pause is None:
                    raise self._unreachable(passing, patience.tries) from None
                self.on_notice(
                    f"{passing.reason}; trying again in {pause:.1f} s ({patience.tries} of {TRIES})"
                )
                await asyncio.sleep(pause)

    async def close(self) -> None:
        """See `Model.close`."""
        self._client.close()

    async def _attempt(self, request: Request) -> AsyncGenerator[Delta, None]:
        assembler = Assembler()
        try:
            answer = await self._client.post(self._headers(), self._body(request))
        except WireError as error:
            raise self._passing(error, assembler) from None
        try:
            if answer.status != 200:
                raise self._refused(answer, await answer.read(_ERROR_BYTES))
            async with aclosing(self._deltas(answer, assembler)) as deltas:
                async for delta in deltas:
                    yield delta
        except WireError as error:
            answer.abandon()
            raise self._passing(error, assembler) from None
        except BaseException:  # cancelled, closed early, or refused: the rest of it is of no use
            answer.abandon()
            raise
        yield self._reply(assembler)

    async def _deltas(
        self, answer: Answer, assembler: Assembler
    ) -> AsyncGenerator[TextDelta | ReasoningDelta, None]:
        async with aclosing(self._texts(answer)) as texts:
            async for text in texts:
                piece = self._piece(text)
                try:
                    deltas = list(assembler.feed(piece))
                except (AttributeError, KeyError, TypeError, ValueError):  # JSON, but of another shape
                    raise WireError(f"it sent {_shown(text, 80)!r}, which is no piece of a reply") from None
                for delta in deltas:
                    yield delta
        if not assembler.finished:
            raise WireError("the answer broke off")

    async def _texts(self, answer: Answer) -> AsyncGenerator[str, None]:
        """The JSON texts of an answer: one per event, or the whole if the server did not stream."""
        kind = answer.headers.get("content-type", "")
        if "html" in kind:
            raise UserError(
                Fault.CONFIGURATION,
                f"{self.url} answers with a web page, not with a model's reply",
                "Check the API base: it usually ends in /v1",
            )
        if "json" in kind:
            yield (await answer.read()).decode("utf-8", "replace")
            return
        events = EventParser()
        async for piece in answer.pieces():
            for text in events.feed(piece):
                if text == "[DONE]":  # the thread reads what is left, so that the connection can be kept
                    return
                yield text
        for text in events.end():
            if text != "[DONE]":
                yield text

    def _piece(self, text: str) -> Mapping[str, Any]:
        try:
            piece = json.loads(text)
        except ValueError:  # cut off, or another program's words: as good as a broken connection
            piece = None
        if not isinstance(piece, dict):
            raise WireError(f"it sent {_shown(text, 80)!r} instead of JSON")
        if error := piece.get("error"):
            status = error.get("code") if isinstance(error, dict) else None
            raise self._failure(status if isinstance(status, int) else 500, {}, text.encode())
        return piece

    def _reply(self, assembler: Assembler) -> Reply:
        usage = assembler.usage
        if not self._looked_up:
            self._looked_up = True
            self._listing = self._find()
            if self._listing and self._listing.window and not self._window_known:
                self.window = self._listing.window
        if usage.cost is None and self._listing and usage.input:
            usage = replace(usage, cost=self._listing.cost(usage))
        return assembler.reply(usage)

    def _headers(self) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream, application/json",
            "User-Agent": "patchwright",
        }
        return headers | {"Authorization": f"Bearer {self._key}"} if self._key else headers

    def _body(self, request: Request) -> bytes:
        fixed = self._fixed
        if fixed is None or not fixed.fits(request):
            fixed = self._fixed = _Fixed(request)
        dialect = self._dialect
        options: dict[str, Any] = {"model": self._model, "stream": True}
        if dialect.usage:
            options["stream_options"] = {"include_usage": True}
        if request.max_output:
            options[dialect.limit] = request.max_output
        wire = "openai-chat+reasoning" if dialect.reasoning else "openai-chat"
        messages = [fixed.system] if fixed.system else []
        for message in request.messages:
            encoded = message.wire.get(wire)
            if encoded is None:
                encoded = encode(message_json(message, reasoning=dialect.reasoning))
                message.wire[wire] = encoded
            messages.append(encoded)
        return b"".join((encode(options)[:-1], fixed.tools, b',"messages":[', b",".join(messages), b"]}"))

    def _passing(self, error: WireError, assembler: Assembler) -> Exception:
        if error.lasting:
            return UserError(
                Fault.MODEL_UNREACHABLE,
                f"{self.url}: {error.reason}",
                "If you trust the server, name its certificates' file in SSL_CERT_FILE",
            )
        if assembler.spoke:  # shown already: asking again would say it twice
            return UserError(
                Fault.MODEL_UNREACHABLE,
                f"{self.url}: {error.reason} in the middle of a reply",
                "What came before it is kept; ask to go on, or resume the session",
            )
        return _Passing(f"{self.url}: {error.reason}")

    def _unreachable(self, passing: _Passing, tries: int) -> UserError:
        if passing.asked is not None:
            hint = f"The server asks to wait {passing.asked:.0f} s: try again then, or use another model"
        else:
            hint = "Check that the server runs and the address is right (--api-base), or use another model"
        return UserError(Fault.MODEL_UNREACHABLE, f"{passing.reason} (tried {tries} times)", hint)

    def _refused(self, answer: Answer, body: bytes) -> Exception:
        if answer.status in (400, 422) and self._concede(body):
            return _Concession()
        return self._failure(answer.status, answer.headers, body)

    def _concede(self, body: bytes) -> bool:
        text = body.decode("utf-8", "replace")
        for word, change in _CONCESSIONS.items():
            fresh = {key: value for key, value in change.items() if getattr(self._dialect, key) != value}
            if word in text and fresh:
                self._dialect = replace(self._dialect, **fresh)  # type: ignore[arg-type]
                return True
        return False

    def _failure(self, status: int, headers: Mapping[str, str], body: bytes) -> Exception:
        code, text = _said(body)
        text = text.replace(self._key, "…") if self._key else text
        said = f": {text}" if text else ""
        if status in (401, 403) or code in ("insufficient_quota", "invalid_api_key"):
            variable = self._key_variable or "the API key"
            hint = f"Check {variable}: is it for this provider, still valid, and paid for?"
            return UserError(Fault.CREDENTIALS, f"{self.url} refuses access ({status}){said}", hint)
        if status in PASSING:
            return _Passing(f"{self.url} answered {status}{said}", retry_after(headers))
        if status == 404:
            message = f"{self.url} knows no model {self._model!r} (404){said}"
            if "responses" in text:
                hint = f"It is not a chat model: try --model litellm/openai/{self._model}"
            else:
                hint = "Check the model's name and the API base, which usually ends in /v1"
            return UserError(Fault.CONFIGURATION, message, hint)
        if location := headers.get("location"):
            hint = f"Use it in the API base: it redirects to {_shown(location, 200)!r}"
            return UserError(Fault.CONFIGURATION, f"{self.url} has another address ({status})", hint)
        hint = "Another model, or a shorter session, may do"
        return UserError(Fault.CONFIGURATION, f"{self.url} refuses the request ({status}){said}", hint)


class _Passing(Exception):
    """A failure that may be gone on the next try. `asked`: seconds that the server wants us to wait."""

    def __init__(self, reason: str, asked: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.asked = asked


class _Concession(Exception):
    """The request was refused for its form, and the form has been changed: ask again at once."""


class _Fixed:
    """System prompt and tools as bytes: encoded once, since they don't change between steps."""

    def __init__(self, request: Request) -> None:
        self._system = request.system
        self._specs: Sequence[ToolSpec] = request.tools
        self.system = encode({"role": "system", "content": request.system}) if request.system else b""
        self.tools = b""
        if request.tools:
            self.tools = b',"tools":' + encode([tool_json(tool) for tool in request.tools])

    def fits(self, request: Request) -> bool:
        # Equal strings and lists of the same objects are found equal by identity, without reading them.
        return self._system == request.system and self._specs == request.tools


def _checked(key: str, variable: str) -> str:
    if key.isascii() and (key.isprintable() or not key):
        return key
    message = f"{variable or 'the API key'} holds characters that no key has"
    raise UserError(
        Fault.CREDENTIALS, message, "Copy it again, without line breaks or dots in place of letters"
    )


def _said(body: bytes) -> tuple[str, str]:
    """(code, message) of an error body, which is JSON of several shapes or just text."""
    text = body.decode("utf-8", "replace")
    try:
        error = json.loads(text)
    except ValueError:  # a proxy's page, a plain line
        return "", _shown(text, 300)
    if isinstance(error, list) and error:
        error = error[0]
    if isinstance(error, dict):
        error = error.get("error", error)
    if not isinstance(error, dict):
        return "", _shown(str(error), 300)
    message = error.get("message") or error.get("detail") or text
    return str(error.get("code") or ""), _shown(str(message), 300)


def _shown(text: str, limit: int) -> str:
    """Text from elsewhere on one line, without control characters, cut to `limit`."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: limit * 4]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
