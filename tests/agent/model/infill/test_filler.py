"""Gaps are filled in each server's own form; which one is found by asking once, and what ignores a suffix is none."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from agent.model.http.http_model import HttpModel, ModelAddress
from agent.model.infill.fill_forms import FORMS, Filling, Gap, find_words, list_forms
from agent.model.infill.filler import Filler, find_filler
from agent.model.infill.logical_line import measure_logical_line
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


@pytest.mark.parametrize(("written", "told"), [("forced", (-0.75, 2)), ("other", None)])
def test_the_probability_of_a_given_text(written: str, told: tuple[float, int] | None) -> None:
    gap = replace(GAP, forced='a + "\\n"')

    def answer(path: str, body: Json) -> tuple[int, Json]:
        assert body["grammar"] == r'root ::= "a + \"\\n\""'
        scores = [{"token": "a", "logprob": -0.25}, {"token": "", "logprob": -0.5}]
        return 200, {
            "content": gap.forced if written == "forced" else "a",
            "completion_probabilities": scores,
        }

    with serve(answer) as (base, _):
        assert asyncio.run(Filler(base, form=FORMS["infill"]).measure_probability(gap)) == told
        assert asyncio.run(Filler(base, form=FORMS["mistral"]).measure_probability(gap)) is None


def test_a_probability_is_asked_once_and_with_little_around_it() -> None:
    """A search waits for it: the old lines are those of all its changes, and what is near tells most."""
    gap = Gap(
        prefix="before = 1\n" * 400,
        suffix="\nafter = 1" * 400,
        forced="a",
        beside=[("t.py", "x = 1\n" * 900)],
    )

    def answer(path: str, body: Json) -> tuple[int, Json]:
        return 200, {"content": "a", "completion_probabilities": [{"token": "a", "logprob": -0.25}]}

    with serve(answer) as (base, seen):
        filler = Filler(base, form=FORMS["infill"])
        assert [asyncio.run(filler.measure_probability(gap)) for _ in range(3)] == [(-0.25, 1)] * 3
        asyncio.run(filler.fill(replace(gap, forced="")))
    forced, filled = (body for _, body in seen)
    for name in ("input_prefix", "input_suffix"):
        assert 0 < len(forced[name]) < len(filled[name]) / 2
    assert len(forced["input_extra"][0]["text"]) < len(filled["input_extra"][0]["text"]) / 2


def test_a_grammars_split_of_one_token_into_two_costs_nothing() -> None:
    def answer(path: str, body: Json) -> tuple[int, Json]:
        quote = [
            {"token": '":', "logprob": -0.5},
            {"token": '"', "logprob": -0.75},
            {"token": "x", "logprob": -0.1},
        ]
        scores = [
            {"token": "a", "logprob": -0.25, "top_logprobs": [{"token": "b", "logprob": -0.1}]},
            {"token": '"', "logprob": -0.75, "top_logprobs": quote[: body["n_probs"]]},
            {"token": ":", "logprob": -15.0, "top_logprobs": []},
            {"token": "", "logprob": -1.0, "top_logprobs": []},
        ]
        return 200, {"content": body["grammar"] and 'a":', "completion_probabilities": scores}

    with serve(answer) as (base, _):
        told = asyncio.run(Filler(base, form=FORMS["infill"]).measure_probability(replace(GAP, forced='a":')))
    assert told == (-0.25 - 0.5 - 1.0, 3)


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
    assert (len(body["input_prefix"]), body["input_prefix"][-1]) == (2_500, "b")
    assert (len(body["input_suffix"]), body["input_suffix"][0]) == (800, "c")


def test_gaps_near_each_other_are_sent_with_one_beginning() -> None:
    lines = [f"line{number:04} = 0\n" for number in range(1_000)]
    with serve(llamacpp) as (base, seen):
        filler = Filler(base, form=FORMS["infill"])
        for number in range(900, 910):
            asyncio.run(filler.fill(replace(GAP, prefix="".join(lines[:number]))))
    sent = [body["input_prefix"] for _, body in seen]
    assert all(later.startswith(earlier) for earlier, later in pairwise(sent))
    assert sent[0].startswith("line")
    assert 1_450 <= len(sent[0]) <= len(sent[-1]) <= 3_000


def test_a_model_without_an_address_fills_nothing() -> None:
    assert find_filler(object()) is None
    place = ModelAddress(name="x", model="x", base="http://127.0.0.1:9/v1")
    model = HttpModel(place, wire=ChatWire("x", ChatDialect(limit="max_tokens")))
    model.learn(ServerFacts(fills="none"))
    assert find_filler(model) is None


@pytest.mark.parametrize(
    ("written", "filled"),
    [
        (["return tuple(", "    sorted(names)\n)\nprint(1)"], "return tuple(\n    sorted(names)\n)"),
        (["f('(')"], "f('(')"),
        (["a, b)"], "a, b)"),
        (["call(", ""], "call("),  # lines behind the gap close it
        (["call(", "a,\nb,\n"], "call("),
    ],
)
def test_a_filling_with_an_open_bracket_goes_on(written: list[str], filled: str) -> None:
    def write(path: str, body: Json) -> tuple[int, Json]:
        text = written[len(seen) - 1]
        return 200, {"content": text, "completion_probabilities": [{"token": text, "logprob": -len(seen)}]}

    with serve(write) as (base, seen):
        filling = asyncio.run(Filler(base, form=FORMS["infill"]).fill(GAP))
    assert filling is not None
    assert filling.text == filled
    assert len(seen) == len(written)
    if "\n" in filled:
        assert filling.score == -1.5, "the mean of all tokens"
        assert seen[1][1]["input_prefix"].endswith("return tuple(\n")
        assert "stop" not in seen[1][1] or seen[1][1]["stop"] == []


def test_a_logical_line_of_brackets_and_quotes_is_read_in_linear_time() -> None:
    assert measure_logical_line("(" * 200_000) is None
    assert measure_logical_line("'" * 199_999) == 199_999
    assert measure_logical_line('"\\' * 100_000) == 200_000
    assert measure_logical_line("f(\n'')\nx") == 6


def test_a_slow_server_is_sent_less() -> None:
    def read_slowly(path: str, body: Json) -> tuple[int, Json]:
        status, answer = llamacpp(path, body)
        return status, {**answer, "timings": {"prompt_n": 500, "prompt_ms": 10_000.0}}

    gap = replace(
        GAP, prefix="x = 1\n" * 2_000, suffix="\n" * 2_000, beside=[("test_a.py", "y = 2\n" * 1_000)]
    )
    with serve(read_slowly) as (base, seen):
        filler = Filler(base, form=FORMS["infill"])
        for _ in range(3):
            asyncio.run(filler.fill(gap))
    sent = [
        len(b["input_prefix"]) + len(b["input_suffix"]) + len(b["input_extra"][0]["text"]) for _, b in seen
    ]
    assert sent[0] > 4_000
    assert 1_000 < sent[1] <= 1_800, "twelve seconds at 50 tokens a second"
    assert sent[1] == sent[2]


def test_a_server_that_does_not_answer_in_time_is_left_alone_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    free = threading.Event()

    def hang(path: str, body: Json) -> tuple[int, Json]:
        if len(seen) <= 2:
            free.wait(60)
        return llamacpp(path, body)

    monkeypatch.setattr("agent.model.infill.filler.PATIENCE", 0.2)
    with serve(hang) as (base, seen):
        filler = Filler(base, form=FORMS["infill"])
        found = [asyncio.run(filler.fill(replace(GAP, prefix="x = 1\n" * 900))) for _ in range(6)]
        assert (found, filler.is_resting, len(seen)) == ([None] * 6, True, 2)
        free.set()
        assert len(seen[1][1]["input_prefix"]) < len(seen[0][1]["input_prefix"])
        monkeypatch.setattr("agent.model.infill.filler.PATIENCE", 60.0)
        monkeypatch.setattr(filler, "_rests_until", 0.0)
        assert asyncio.run(filler.fill(GAP)) is not None
        assert not filler.is_resting


def test_no_more_is_sent_than_can_be_read_in_the_time_for_all_fillings() -> None:
    gap = replace(GAP, prefix="x = 1\n" * 2_000, suffix="\n" * 2_000)
    with serve(llamacpp) as (base, seen):
        filler = Filler(base, form=FORMS["infill"])
        for seconds in (15.0, 600.0):
            filler.fit_to(seconds)
            asyncio.run(filler.fill(gap))
    short, long = (len(body["input_prefix"]) + len(body["input_suffix"]) for _, body in seen)
    assert short < 1_200 < long, "five seconds at 80 tokens a second, then twelve"


def test_a_server_is_not_asked_for_what_it_cannot_finish_in_time() -> None:
    long = replace(GAP, prefix="x = 1\n" * 2_000)
    with serve(llamacpp) as (base, seen):
        filler = Filler(base, form=FORMS["infill"])
        assert asyncio.run(filler.fill(replace(long, seconds=5.0))) is None, (
            "a thousand tokens at 80 a second"
        )
        assert not seen
        assert asyncio.run(filler.fill(replace(long, seconds=60.0))) is not None
        assert asyncio.run(filler.fill(replace(long, seconds=5.0))) is not None, "it has answered at once"


def test_a_server_that_is_late_at_the_end_is_not_asked_again_at_once() -> None:
    free = threading.Event()

    def hang(path: str, body: Json) -> tuple[int, Json]:
        free.wait(60)
        return llamacpp(path, body)

    with serve(hang) as (base, seen):
        filler = Filler(base, form=FORMS["infill"])
        assert asyncio.run(filler.fill(replace(GAP, seconds=0.2))) is None
        assert filler.is_resting
        assert asyncio.run(filler.fill(GAP)) is None
        assert len(seen) == 1, "it reads on, and takes the processor from the tests"
        free.set()


@pytest.mark.parametrize(
    "timings",
    [None, 5, {"prompt_n": "x"}, {"prompt_n": 500, "prompt_ms": 0}, {"prompt_n": 2, "prompt_ms": 9.0}],
)
def test_a_speed_that_is_not_told_changes_nothing(timings: Any) -> None:
    answer = {"content": "x", "timings": timings}
    filling = FORMS["infill"].parse(answer)
    assert filling is not None
    assert filling.speed == 0.0


def test_the_speed_that_ollama_tells_is_read() -> None:
    filling = FORMS["ollama"].parse({"response": "x", "prompt_eval_count": 300, "prompt_eval_duration": 3e9})
    assert filling is not None
    assert filling.speed == 100.0
