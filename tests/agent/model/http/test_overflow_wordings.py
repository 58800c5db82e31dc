"""A window that is full, in the words of each server."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from agent.context.projection.projection import BYTES_PER_TOKEN
from agent.model.http.error_responses import RequestTarget, classify_failure
from agent.model.protocol import ContextOverflow, RequestRefused
from tests.support.bench import bench
from tests.support.formats import KINDS, model
from tests.support.hostile_endpoint import SHAPES, draw_words
from tests.support.raw_endpoint import Json, RawAnswer, RawEndpoint, build_refusal
from tools.session.finish import finish

SAID: list[tuple[str, int | None]] = [
    (
        "The number of tokens to keep from the prompt is greater than the context length. Try a larger one",
        None,
    ),
    (
        "The number of tokens to keep from the prompt is greater than the context length (n_keep: 9>= n_ctx: 4096)",
        4096,
    ),
    (
        "Trying to keep the first 10136 tokens when context the overflows. However, … context length of only 7866",
        7866,
    ),
    ("Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)", 7424),
    ("the request exceeds the available context size, try increasing it", None),
    ("request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it", 8192),
    ("The input (516368 tokens) is longer than the model's context length (262144 tokens).", 262144),
    ("The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 4096),
    ("Input length 131393 exceeds the maximum allowed input length of 131040 tokens.", None),
    (
        "Prompt contains 150000 tokens and 0 draft tokens, too large for model with 128000 maximum context length",
        None,
    ),
    ("This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131072),
    ("Your request exceeded model token limit: 262144 (requested: 291351)", 262144),
    ("invalid params, context window exceeds limit (2013)", None),
    ("Range of input length should be [1, 30000]", None),
    ("prompt token count of 200000 exceeds the limit of 128000", 128000),
    (
        "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 20 `max_new_tokens`",
        4096,
    ),
    (
        "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, decrease input length",
        200000,
    ),
    ("prompt too long; exceeded max context length by 812 tokens", None),
    ("Input prompt (35247 tokens) is too long and exceeds limit of 1000", 1000),
    ("Input length 203743 exceeds the maximum length 202752", 202752),
    ("Prompt has 9000 tokens which exceeds the max_seq_len of 4096", 4096),
    ("You passed 9000 input tokens. However, the model's context length is only 8192 tokens", 8192),
    ("tokens_limit_reached: Request body too large for gpt-4o model. Max size: 8000 tokens.", 8000),
    ("输入长度超过最大长度", None),
]
OTHERS = [
    "max_tokens exceeds the maximum length 4096 of the output",
    "stop sequence exceeds maximum length of 16",
    "tool name exceeds maximum length of 64",
    "invalid model: no such model",
    "messages.2.content: Input should be a valid string",
    "temperature is too high",
    "billing hard limit",
]


def classify(body: object, status: int = 400) -> Exception:
    target = RequestTarget(url="http://x/v1", model="m", key="", variable="")
    return classify_failure(target, status, {}, json.dumps(body).encode())


@pytest.mark.parametrize(("said", "limit"), SAID)
def test_a_full_window_is_recognised_with_its_size(said: str, limit: int | None) -> None:
    error = classify({"error": {"message": said}})
    assert isinstance(error, ContextOverflow)
    assert limit is None or error.limit == limit
    assert isinstance(classify({"error": said}), ContextOverflow), "LM Studio sends a plain text"


def test_a_gateway_s_message_is_read_with_that_of_the_provider_behind_it() -> None:
    raw = json.dumps({"error": {"message": SAID[0][0]}})
    assert isinstance(
        classify({"error": {"message": "Provider returned error", "metadata": {"raw": raw}}}), ContextOverflow
    )


@pytest.mark.parametrize("said", OTHERS)
def test_other_refusals_are_no_full_window_whatever_they_quote(said: str) -> None:
    assert isinstance(classify({"error": {"message": said}}), RequestRefused)
    quoted = [{"msg": said, "input": "what is a context window?"}]
    assert isinstance(classify({"detail": quoted}, 422), RequestRefused)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_refusal_near_the_window_is_tried_once_compacted(kind: str, status: int, tmp_path: Path) -> None:
    window = 12_000
    text = draw_words(int(window * BYTES_PER_TOKEN * 0.35))
    sizes: list[int] = []

    def answer(body: Json, before: int) -> RawAnswer:
        sizes.append(len(json.dumps(body)))
        if before == 1:
            return build_refusal("Bad Request", status)
        said = (
            SHAPES[kind].begin()
            + SHAPES[kind].text(f"{text} {before}" if before < 2 else "done")
            + b"data: [DONE]\n\n"
        )
        return RawAnswer(pieces=[said])

    with RawEndpoint(answer) as server:
        it = bench(tmp_path, [], [finish], snapshots=False)
        it.runtime.loop.model = it.runtime.model = model(kind, server, window=window)
        it.runtime.loop.compressor.window = lambda: window
        ends = [it.turn(prompt).outcome for prompt in ("go", draw_words(len(text) * 3 // 2, seed=2))]
        asyncio.run(it.runtime.close())
    assert ends == ["done", "done"]
    assert len(sizes) == 3
    assert sizes[2] < sizes[1]
