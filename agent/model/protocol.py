"""The `Model` protocol: a request goes in, deltas stream out, the last one is the finished reply."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, ClassVar, Literal, Protocol

from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from tools.core.action import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one call; `cost` in US dollars, None when the price is not known (unknown is not zero).

    input: all of it, including tokens read from the provider's cache (`cached`) and written to it (`written`)
    output: all of it, `reasoning` included
    """

    input: int = 0
    cached: int = 0
    written: int = 0
    output: int = 0
    reasoning: int = 0
    cost: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image for a model. media: "image/png", …; data: its bytes in base64"""

    media: str
    data: str

    @property
    def url(self) -> str:
        """Data URL of the image (RFC 2397)."""
        return f"data:{self.media};base64,{self.data}"


@dataclass(slots=True, kw_only=True, eq=False)
class UserMessage:
    """Text from the user, or from the harness on their behalf, with its images.

    passing: it occurs in one request only, so the cache prefix must end before it
    by_person: the user wrote it, so that a turn may begin with it
    """

    passing: ClassVar[bool] = False
    by_person: ClassVar[bool] = True

    text: str
    images: tuple[Image, ...] = ()
    wire: dict[str, bytes] = field(default_factory=dict, repr=False)


@dataclass(slots=True, kw_only=True, eq=False)
class AssistantMessage:
    """The model's text and actions. `reasoning` is replayed to providers that require it.

    kept: parts that only their own wire format understands, each a JSON object with that format's name in
    "wire"
    """

    text: str
    actions: tuple[Action, ...] = ()
    reasoning: str = ""
    kept: tuple[Mapping[str, Any], ...] = ()
    wire: dict[str, bytes] = field(default_factory=dict, repr=False)


@dataclass(slots=True, kw_only=True, eq=False)
class ToolMessage:
    """The observation of one action (`call` is its id).

    data, whole: for models inside this process, never sent: its facts, and its full text where only a part is sent
    """

    call: str
    name: str
    text: str
    failed: bool = False
    data: Mapping[str, Any] | None = None
    whole: str = ""
    wire: dict[str, bytes] = field(default_factory=dict, repr=False)


Message = UserMessage | AssistantMessage | ToolMessage
"""Messages are never changed after creation: `wire` caches each one's encoded bytes per wire format, so that
encoding a request costs only the new messages (see DESIGN: the cost of a step is flat)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as described to the model: `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call of a model. `system`, `tools` and the older messages keep their bytes from step to step.

    shared: characters at the beginning of `system` that are the same in every folder, None if all are; what a model
        is told beside them goes behind them, so that a server's prefix cache holds from folder to folder
    temperature: in place of the usual one; schema: that the answer has to fit; where the wire format takes them
    """

    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    max_output: int | None = None
    shared: int | None = None
    temperature: float | None = None
    schema: Mapping[str, Any] | None = None

    def split_system(self) -> tuple[str, str]:
        """Return the part of the system prompt that all folders share, and the rest, "" if there is none."""
        if self.shared is None or self.shared >= len(self.system):
            return self.system, ""
        return self.system[: self.shared].rstrip("\n"), self.system[self.shared :].lstrip("\n")

    def add_guide(self, guide: str) -> Request:
        """Return the request with one more text in the shared part of its system prompt."""
        shared, rest = self.split_system()
        head = f"{shared}\n\n{guide}".strip()
        return replace(self, system=f"{head}\n\n{rest}".strip(), shared=len(head))


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningDelta:
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryWait:
    """A pause after a failure that may pass: for a view, no part of the answer.

    reason: in a few words, "rate limited"; attempt: number of the one that comes after `seconds`, of `tries`
    """

    reason: str
    seconds: float
    attempt: int
    tries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The finished answer: always the last item of a stream, exactly once.

    model: the model that answered, if not the requested one (a fallback, a relay)
    kept: parts to send back to the provider unchanged (signed or encrypted reasoning), for
    `AssistantMessage.kept`
    """

    text: str
    actions: tuple[Action, ...] = ()
    reasoning: str = ""
    usage: Usage = Usage()
    stop: Literal["end", "actions", "length", "refusal", "other"] = "end"
    model: str = ""
    kept: tuple[Mapping[str, Any], ...] = ()


Delta = TextDelta | ReasoningDelta | RetryWait | Reply


UNPAID = ("offline", "scripted:", "cassette:")
"""Name prefixes of models that replay or run offline: they cost nothing, and no other model can replace them."""


def compute_price(model: object, usage: Usage) -> float | None:
    """Return the US dollars of a call of `model` with this usage; None if not known."""
    offered: Callable[[Usage], float | None] | None = getattr(model, "price", None)
    return offered(usage) if offered is not None else None


async def prepare_model(model: object) -> None:
    """Let a model learn, before the first request, what it does not know of its server. Raises nothing."""
    offered: Callable[[], Awaitable[None]] | None = getattr(model, "prepare", None)
    if offered is not None:
        await offered()


def change_call_form(model: object) -> str:
    """Let the next requests ask for calls in a form not tried yet; return it in words, "" if there is none."""
    offered: Callable[[], str] | None = getattr(model, "change_form", None)
    return offered() if offered is not None else ""


class CutOff(UserError):
    """The answer broke off after some text was streamed: that text can be kept, and the rest requested.

    text: what came, set by whoever collects the stream
    """

    text: str = ""


class LoopingReply(CutOff):
    """The reply repeated one passage without end, so that it was stopped; `text` holds the passage once."""


class GarbledReply(LoopingReply):
    """The reply turned into junk, so that it was stopped; `text` holds what came before."""


class ContextOverflow(UserError):
    """The request is longer than the model's window; a shorter one may fit.

    limit, sent: tokens that the server accepts and has counted, None if it did not say
    """

    def __init__(
        self, fault: Fault, message: str, hint: str = "", *, limit: int | None = None, sent: int | None = None
    ) -> None:
        super().__init__(fault, message, hint)
        self.limit = limit
        self.sent = sent


class RequestRefused(UserError):
    """The endpoint refuses the request (400, 413 or 422) for a reason that is not recognised."""


class ToolsRefused(UserError):
    """The endpoint supports no tools with this model."""


class Model(Protocol):
    """Protocol of everything that can answer a request.

    name: as the user writes it, e.g. "openai/gpt-5", "scripted:turns.yaml", "offline"
    window: context window in tokens
    """

    name: str
    window: int

    def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Answer `request`, the last item being a `Reply`.

        Raises UserError with Fault.MODEL_UNREACHABLE, CREDENTIALS or CONFIGURATION; of these `CutOff` after
        some text was streamed, `ContextOverflow` if the request is too long. Closing the iterator early
        (cancellation) closes the connection.
        """
        ...

    async def close(self) -> None:
        """Release connections. Safe to call twice."""
        ...
