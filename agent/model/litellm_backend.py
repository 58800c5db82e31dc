"""Models behind every other kind of interface (Gemini, Bedrock, Azure, …), through litellm.

Importing litellm takes seconds, so it starts in a thread when a model is created, while the context is still
being gathered.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any

from agent.model.http.error_responses import is_overflow, mask_key, parse_prompt_size, parse_window
from agent.model.http.retry import PASSING, TRIES, RetryBudget, parse_retry_after
from agent.model.protocol import AssistantMessage, ContextOverflow, CutOff, Delta, Request, Usage
from agent.model.providers.model_catalog import DEFAULT_WINDOW, Listing
from agent.model.wire_formats.chat_assembler import ChatAssembler
from agent.model.wire_formats.chat_messages import FORM, message_to_json, tool_to_json
from agent.model.wire_formats.kept_parts import name_endpoint, select_parts, stamp_endpoint
from agent.model.wire_formats.reply_bounds import ReplyTooLarge
from agent.model.wire_formats.wire_protocol import Assembler, Json, find_last_permanent_message
from sandbox.errors import Fault, UserError
from sandbox.lazy_pattern import compile_lazily

if TYPE_CHECKING:
    from agent.model.rate_limits.rate_gate import Admission, RateGate

_ENVIRONMENT = {
    # Price tables and headers from the package, not fetched from the network.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_LOCAL_BLOG_POSTS": "True",
    "LITELLM_LOCAL_POLICY_TEMPLATES": "True",
    "LITELLM_LOCAL_AUTOROUTER_PRESETS": "True",
    # In its other mode litellm loads the repository's .env file into this process's environment.
    "LITELLM_MODE": "PRODUCTION",
}

_LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")

_CLASS = compile_lazily(r"^(litellm\.)?\w+(Error|Exception)( -|:) ")

_WAIT = 0.02
"""Seconds between checks of the importing thread: short compared with the seconds that it takes."""


class LiteLLMModel:
    """A model under litellm's name.

    name: as the user writes it; model: litellm's PROVIDER/NAME
    api_key, api_base: None leaves them to litellm, which reads the environment
    listing: looks up the model's price; temperature: None for the provider's default
    effort, service: reasoning effort, class of service, "" for the provider's default
    on_notice: receives one line for every wait before a retry
    gate: that each request passes before it is sent; None: no limit
    """

    def __init__(
        self,
        name: str,
        model: str,
        api_base: str | None = None,
        api_key: str | None = None,
        window: int | None = None,
        *,
        key_variable: str = "",
        listing: Callable[[], Listing | None] = lambda: None,
        temperature: float | None = None,
        effort: str = "",
        service: str = "",
        on_notice: Callable[[str], None] = lambda text: None,
        gate: RateGate | None = None,
    ) -> None:
        self.name = name
        self.window = window or DEFAULT_WINDOW
        self.on_notice = on_notice
        self._model = model
        self._window_known = window is not None
        self._key_variable = key_variable
        self._find = listing
        self._key = api_key or ""
        self._endpoint = f"litellm {model} {name_endpoint(api_base)}" if api_base else f"litellm {model}"
        self._options: Json = {"model": model, "api_base": api_base, "api_key": api_key}
        if temperature is not None:
            self._options["temperature"] = temperature
        if effort:
            self._options["reasoning_effort"] = effort
        if service:
            self._options["service_tier"] = "default" if service == "standard" else service
        self._tier = service
        self._marks = "claude" in model.lower()
        self._litellm: ModuleType | None = None
        self._trouble: Exception | None = None
        self._used = False
        self._gate = gate
        self._importer = threading.Thread(target=self._import_litellm, name="import-litellm", daemon=True)
        self._importer.start()

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """See `Model.stream`. Retries up to three times, while no part of an answer can have been shown."""
        litellm = await self._wait_for_import()
        patience = RetryBudget()
        while True:
            assembler = ChatAssembler()
            try:
                async with aclosing(self._attempt_request(litellm, request, assembler)) as deltas:
                    async for delta in deltas:
                        yield delta
                return
            except UserError:
                raise
            except ReplyTooLarge as error:
                kind = CutOff if assembler.spoke else UserError
                message = f"{self._model} sent {error.what}"
                raise kind(Fault.MODEL_UNREACHABLE, message, "Nothing of it was run") from None
            except Exception as error:  # litellm lets through errors of every kind, also its providers' own
                pause = self._compute_pause(error, assembler, patience)
                self.on_notice(
                    f"{self._model}: {_format_error(error, self._key)}; "
                    f"trying again in {pause:.1f} s ({patience.tries} of {TRIES})"
                )
                await asyncio.sleep(pause)

    async def close(self) -> None:
        """See `Model.close`."""
        if self._litellm is not None and self._used:
            self._used = False
            await self._litellm.close_litellm_async_clients()

    def price(self, usage: Usage) -> float | None:
        """Return the US dollars of a call with this usage; None if the model's price is not known. Looks it up once."""
        return self._listing.compute_cost(usage, self._tier) if self._listing else None

    @cached_property
    def _listing(self) -> Listing | None:
        return self._find()

    async def _attempt_request(
        self, litellm: ModuleType, request: Request, assembler: Assembler
    ) -> AsyncGenerator[Delta, None]:
        self._used = True
        marks = _build_cache_marks(request) if self._marks else {}
        call = _build_call(request, self._endpoint)
        admission = None if self._gate is None else await self._admit(self._gate, call)
        try:
            response = await litellm.acompletion(**self._options, **call, **marks)
            try:
                async for piece in response:
                    for delta in assembler.feed(piece.model_dump(exclude_none=True)):
                        yield delta
            finally:
                await response.aclose()
        except Exception:  # of any provider; see `stream`
            if admission is not None and not assembler.spoke:
                admission.refuse()
            raise
        if admission is not None:
            admission.finish(assembler.usage)
        # litellm sets a stop reason even for a broken stream, but it raises then.
        usage = assembler.usage
        if usage.cost is None and usage.input:
            usage = replace(usage, cost=self.price(usage))
        reply = assembler.build_reply(usage)
        yield replace(reply, kept=stamp_endpoint(reply.kept, self._endpoint))

    async def _admit(self, gate: RateGate, call: Json) -> Admission:
        size = len(json.dumps([call["messages"], call.get("tools")], default=str))
        return await gate.admit(size, self.on_notice)

    async def _wait_for_import(self) -> ModuleType:
        while self._importer.is_alive():
            await asyncio.sleep(_WAIT)
        if self._litellm is None:
            raise UserError(
                Fault.CONFIGURATION,
                f"litellm, which {self.name!r} needs, cannot be imported: {self._trouble}",
                "Install patchwright again, or use a chat-completions server (NAME --api-base URL)",
            )
        return self._litellm

    def _import_litellm(self) -> None:
        os.environ.update(_ENVIRONMENT)
        try:
            litellm = importlib.import_module("litellm")
        except Exception as error:  # it runs much third-party code; reported at the first request
            self._trouble = error
            return
        _silence_logging(litellm)
        if not self._window_known:
            self.window = _look_up_window(litellm, self._model) or self.window
        self._litellm = litellm

    def _compute_pause(self, error: Exception, assembler: Assembler, patience: RetryBudget) -> float:
        """Return the seconds to wait before a retry. Raises the UserError to show if there is no retry."""
        status = getattr(error, "status_code", None)
        said = f"{self._model}: {_format_error(error, self._key)}"
        if isinstance(error, ImportError) or "pip install" in said:
            raise UserError(Fault.CONFIGURATION, said, "Install what is named into patchwright's environment")
        if status in (401, 403):
            hint = f"Check {self._key_variable or 'your credentials'}: for this provider, valid, paid for?"
            raise UserError(Fault.CREDENTIALS, said, hint) from None
        if status == 404:
            raise UserError(Fault.CONFIGURATION, said, "Check the model's name and the API base") from None
        if is_overflow(status or 0, type(error).__name__, said):
            limit, sent = parse_window(said), parse_prompt_size(said)
            raise ContextOverflow(Fault.CONFIGURATION, said, limit=limit, sent=sent) from None
        if status is not None and status not in PASSING:
            hint = "Another model, or a shorter session, may do"
            raise UserError(Fault.CONFIGURATION, said, hint) from None
        if assembler.spoke:
            hint = "What came before it is kept; ask to go on, or resume the session"
            raise CutOff(Fault.MODEL_UNREACHABLE, f"{said} (in the middle of a reply)", hint) from None
        headers: Mapping[str, str] = getattr(error, "litellm_response_headers", None) or {}
        pause = patience.next_pause(parse_retry_after(headers))
        if pause is None:
            hint = "Check the network and the provider's status, or use another model"
            message = f"{said} (tried {patience.tries} times)"
            raise UserError(Fault.MODEL_UNREACHABLE, message, hint) from None
        return pause


def _build_call(request: Request, endpoint: str) -> Json:
    messages = [
        message_to_json(
            message,
            reasoning=False,
            kept=select_parts(message, FORM, endpoint) if isinstance(message, AssistantMessage) else (),
        )
        for message in request.messages
    ]
    if request.system:
        messages.insert(0, {"role": "system", "content": request.system})
    call: Json = {
        "messages": messages,
        "stream": True,
        "stream_options": {"include_usage": True},
        "drop_params": True,  # parameters unknown to a provider are left out, not an error
        "num_retries": 0,  # retries are done here: reported, bounded, never after text was shown
        "max_retries": 0,
    }
    if request.tools:
        call["tools"] = [tool_to_json(tool) for tool in request.tools]
    if request.max_output:
        call["max_tokens"] = request.max_output
    return call


def _build_cache_marks(request: Request) -> Json:
    """Return cache marks for Anthropic's models: after the fixed prefix, and after all that will be sent again."""
    last = find_last_permanent_message(request.messages) - len(request.messages)
    places = [{"location": "message", "role": "system"}, {"location": "message", "index": last}]
    return {"cache_control_injection_points": places}


def _silence_logging(litellm: ModuleType) -> None:
    import logging

    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    settings: Mapping[str, Any] = {
        "suppress_debug_info": True,
        "turn_off_message_logging": True,
        "disable_streaming_logging": True,
        "success_callback": [],
        "failure_callback": [],
        "callbacks": [],
    }
    for name, value in settings.items():
        setattr(litellm, name, value)


def _look_up_window(litellm: ModuleType, model: str) -> int:
    try:
        return int(litellm.get_model_info(model).get("max_input_tokens") or 0)
    except Exception:  # a bare Exception for an unknown model
        return 0


def _format_error(error: Exception, key: str) -> str:
    """Return an error on one line, without litellm's class name prefixes and the key (see `mask_key`)."""
    text = " ".join(str(error).split())
    while _CLASS.match(text):
        text = _CLASS.sub("", text)
    text = mask_key(text, key)
    return text if len(text) <= 300 else text[:299] + "…"
