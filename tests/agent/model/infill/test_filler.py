"""Gaps are filled in each server's own form; which one is found by asking once, and what ignores a suffix is none."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from agent.model.http.http_model import HttpModel, ModelAddress
from agent.model.infill.fill_forms import FORMS, Filling, Gap, find_words, list_forms
from agent.model.infill.filler import Filler, find_filler
from agent.model.model_factory import resolve_model
from agent.model.protocol import prepare_model
from agent.model.servers.server_facts import ServerFacts
from agent.model.wire_formats.chat_completions import ChatDialect, ChatWire

Json = dict[str, Any]
Twin = Callable[[str, Json], tuple[int, Json]]
"""A server: status and answer to a path and a body."""

GAP = Gap(
    prefix="def add(a, b):\n    return ", suffix="\n", beside=[("test_add.py", "assert add(1, 2) == 3")]
)
FILLED = "a + b"


def write_text(prompt: str, suffix: str | None) -> str:
    """Write what a model would that was trained to fill gaps; without a suffix it goes on to the end of the line."""
    if "Monday" not in prompt:
        return FILLED
    return '"Wednesday", "Thursday", ' if suffix else '"Wednesday", "Thursday", "Friday"]'


def llamacpp(path: str, body: Json) -> tuple[int, Json]:
    if path != "/infill":
        return 404, {"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}}
    assert all(set(each) == {"filename", "text"} for each in body["input_extra"])
    text = write_text(body["input_prefix"], body["input_suffix"])
    told = [{"id": 1, "token": text, "logprob": -0.25, "top_logprobs": []}] if body["n_probs"] else []
    return 200, {"content": text, "stop_type": "word", "completion_probabilities": told}


def llamacpp_without_gaps(path: str, body: Json) -> tuple[int, Json]:
    message = "This model doesn't support infill. prefix token is missing. suffix token is missing."
    return 501, {"error": {"code": 501, "message": message, "type": "not_supported_error"}}


def ollama(path: str, body: Json) -> tuple[int, Json]:
    if path != "/api/generate":
        return 404, {"error": "not found"}
    text = write_text(body["prompt"], body["suffix"])
    assert body["options"]["stop"] == ["\n"]
    assert body["stream"] is False
    return 200, {
        "model": body["model"],
        "response": text,
        "done": True,
        "logprobs": [{"token": text, "logprob": -0.5}],
    }


def ollama_without_gaps(path: str, body: Json) -> tuple[int, Json]:
    return 400, {"error": 'registry.ollama.ai/library/tiny:latest "tiny" does not support insert'}


def completions(path: str, body: Json) -> tuple[int, Json]:
    if not path.endswith("/completions") or "prompt" not in body:
        return 404, {"detail": "Not Found"}
    text = write_text(body["prompt"], body.get("suffix"))
    logprobs = {"tokens": [text], "token_logprobs": [-0.75], "text_offset": [0]} if body["logprobs"] else None
    return 200, {"choices": [{"index": 0, "text": text, "logprobs": logprobs, "finish_reason": "stop"}]}


def vllm(path: str, body: Json) -> tuple[int, Json]:
    if body.get("suffix"):
        message = "suffix is not currently supported"
        return 400, {"error": {"message": message, "type": "BadRequestError", "param": None, "code": 400}}
    words = body.get("prompt", "")
    suffix = words.partition("<|fim_suffix|>")[2]
    return completions(path, {**body, "suffix": suffix})


def ignoring(path: str, body: Json) -> tuple[int, Json]:
    return completions(path, {**body, "suffix": None})


def mistral(path: str, body: Json) -> tuple[int, Json]:
    if path != "/v1/fim/completions":
        return 404, {"detail": "Not Found"}
    if unknown := set(body) & {"seed", "logprobs"}:
        return 422, {"detail": [{"type": "extra_forbidden", "loc": ["body", *unknown]}]}
    text = write_text(body["prompt"], body["suffix"])
    return 200, {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]
    }


@contextmanager
def serve(twin: Twin) -> Iterator[tuple[str, list[tuple[str, Json]]]]:
    """Serve a twin; yield its API base and what was asked."""
    seen: list[tuple[str, Json]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append((self.path, body))
            status, answer = twin(self.path, body)
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *arguments: object) -> None:
            """Nothing on stderr."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", seen
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("twin", "program", "form", "score"),
    [
        (llamacpp, "llama.cpp", "infill", -0.25),
        (llamacpp, "", "infill", -0.25),
        (ollama, "ollama", "ollama", -0.5),
        (completions, "", "suffix", -0.75),
        (vllm, "vllm", "words", -0.75),
        (vllm, "", "words", -0.75),
        (ignoring, "", "", 0.0),
        (llamacpp_without_gaps, "llama.cpp", "", 0.0),
        (ollama_without_gaps, "ollama", "", 0.0),
    ],
)
def test_the_form_is_found_by_asking_once(twin: Twin, program: str, form: str, score: float) -> None:
    learned: list[ServerFacts] = []
    with serve(twin) as (base, seen):
        filler = Filler(base, "qwen2.5-coder:1.5b", "key", program=program, on_learned=learned.append)
        filling = asyncio.run(filler.fill(GAP))
        asked = len(seen)
        asyncio.run(filler.fill(GAP))
    assert (filler.form.name if filler.form else "") == form
    assert [each.fills for each in learned] == [form or "none"]
    if not form:
        assert (filling, filler.works, len(seen)) == (None, False, asked)
        return
    assert filling == Filling(text=FILLED, score=score, scores=((FILLED, score),))
    assert len(seen) == asked + 1
    sent = json.dumps(seen[-1][1])
    assert "assert add(1, 2) == 3" in sent  # the other file


@pytest.mark.parametrize(("name", "twin"), [("mistral", mistral), ("deepseek", completions)])
def test_the_forms_of_providers(name: str, twin: Twin) -> None:
    with serve(twin) as (base, seen):
        filling = asyncio.run(Filler(base, "coder", "key", form=FORMS[name]).fill(GAP))
    assert filling is not None
    assert filling.text == FILLED
    assert seen[0][0] == ("/v1/fim/completions" if name == "mistral" else "/beta/completions")
    assert [each.name for each in list_forms("https://api.deepseek.com/v1", "deepseek-v4-pro", "")] == [
        "deepseek"
    ]
    assert [each.name for each in list_forms("https://api.mistral.ai/v1", "codestral-latest", "")] == [
        "mistral"
    ]


def test_each_familys_own_words() -> None:
    gap = Gap(prefix="P", suffix="S")
    prompts = {
        "Qwen/Qwen2.5-Coder-7B-Instruct": "<|fim_prefix|>P<|fim_suffix|>S<|fim_middle|>",
        "bigcode/starcoder2-3b": "<fim_prefix>P<fim_suffix>S<fim_middle>",
        "codellama:7b-code": "<PRE> P <SUF>S <MID>",
        "mistralai/Codestral-22B-v0.1": "[SUFFIX]S[PREFIX]P",
        "deepseek-coder:1.3b-base": "<｜fim▁begin｜>P<｜fim▁hole｜>S<｜fim▁end｜>",
    }
    for name, prompt in prompts.items():
        words = find_words(name)
        assert words is not None
        assert words.build_prompt(gap) == prompt
    assert find_words("llama-3.2-1b") is None


def test_a_server_that_is_not_there_is_not_remembered_as_one_that_fills_nothing() -> None:
    learned: list[ServerFacts] = []
    filler = Filler("http://127.0.0.1:9/v1", "coder", on_learned=learned.append)
    assert asyncio.run(filler.fill(GAP)) is None
    assert (filler.works, learned) == (False, [])


def test_what_is_found_out_is_remembered_with_the_server(tmp_path: Path) -> None:
    with serve(completions) as (base, seen):
        for asked in (2, 0):  # /infill, and the form that works
            seen.clear()
            model = resolve_model("coder", base, {}, tmp_path)
            filler = find_filler(model)
            assert filler is not None
            assert asyncio.run(filler.probe()) is True
            assert len(seen) == asked
            asyncio.run(model.close())
    with serve(ignoring) as (base, _):
        model = resolve_model("coder", base, {}, tmp_path)
        asyncio.run(prepare_model(model))
        assert asyncio.run(find_filler(model).probe()) is False  # type: ignore[union-attr]
        assert find_filler(resolve_model("coder", base, {}, tmp_path)) is None


@pytest.mark.parametrize(
    "answer",
    [
        [],
        {},
        {"content": 3},
        {"choices": [3]},
        {"choices": [{"text": None}]},
        {"response": ["x"]},
        {"choices": {}},
    ],
)
def test_an_answer_of_another_shape_is_no_filling(answer: Any) -> None:
    for form in FORMS.values():
        assert not isinstance(answer, dict) or form.parse(answer) is None


def test_scores_of_another_shape_are_left_out() -> None:
    odd: Mapping[str, Any] = {
        "content": "x ",
        "completion_probabilities": [3, {}, {"token": "x", "logprob": True}],
    }
    assert FORMS["infill"].parse(odd) == Filling(text="x")
    choice = {"text": "x", "logprobs": {"tokens": ["x", "y"], "token_logprobs": [None, -1.0]}}
    assert FORMS["suffix"].parse({"choices": [choice]}) == Filling(
        text="x", score=-1.0, scores=(("y", -1.0),)
    )


def test_scores_in_the_form_of_chat_are_read_too() -> None:
    choice = {"text": "x", "logprobs": {"content": [{"token": "x", "logprob": -2.0, "top_logprobs": []}]}}
    assert FORMS["words"].parse({"choices": [choice]}) == Filling(text="x", score=-2.0, scores=(("x", -2.0),))


def test_long_texts_are_cut_around_the_gap() -> None:
    with serve(llamacpp) as (base, seen):
        filler = Filler(base, form=FORMS["infill"])
        asyncio.run(filler.fill(replace(GAP, prefix="a" * 9_999 + "b", suffix="c" + "d" * 9_999)))
    body = seen[0][1]
    assert (len(body["input_prefix"]), body["input_prefix"][-1]) == (6_000, "b")
    assert (len(body["input_suffix"]), body["input_suffix"][0]) == (2_000, "c")


def test_a_model_without_an_address_fills_nothing() -> None:
    assert find_filler(object()) is None
    place = ModelAddress(name="x", model="x", base="http://127.0.0.1:9/v1")
    model = HttpModel(place, wire=ChatWire("x", ChatDialect(limit="max_tokens")))
    model.learn(ServerFacts(fills="none"))
    assert find_filler(model) is None
