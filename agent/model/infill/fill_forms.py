"""The forms in which servers take a gap to fill, and what they answer.

llama.cpp: tools/server/README.md there, `POST /infill`. Ollama: docs/api.md there, `suffix` of `POST /api/generate`.
`suffix` of OpenAI's `POST /v1/completions`: llama-cpp-python and others; DeepSeek under /beta. Mistral: `POST
/v1/fim/completions`. vLLM and LM Studio refuse a suffix or ignore it, so the words that a family of models was trained
with are put around the texts (`fill_words`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any
from urllib.parse import urlsplit

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A gap between two texts. beside: names and texts of other files; tokens: at most, of the filling

    forced: the text to be written, whose probability is asked; "" leaves it to the model
    seconds: that an answer may take
    """

    prefix: str
    suffix: str
    forced: str = ""
    beside: Sequence[tuple[str, str]] = ()
    temperature: float = 0.0
    seed: int = 0
    tokens: int = 64
    stop: tuple[str, ...] = ("\n",)
    seconds: float = math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """Text for a gap. score: mean log-probability of its tokens, 0 if the server does not tell it

    scores: those of the tokens, with their texts
    speed: tokens a second at which the server read what was new to it, 0 if it does not tell
    """

    text: str
    score: float = 0.0
    scores: tuple[tuple[str, float], ...] = ()
    speed: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FillForm:
    """One form. url: of the API base and a model; body: of a request; parse: text and scores of an answer, None if
    it is none

    ignores: some servers answer as if there were no suffix
    forces: a given text can be asked for, so that its tokens' probabilities are told
    """

    name: str
    url: Callable[[str], str]
    body: Callable[[str, Gap], Mapping[str, Any] | None]
    parse: Callable[[Mapping[str, Any]], Filling | None]
    ignores: bool = False
    forces: bool = False


def has_fill_host(base: str) -> bool:
    """Return whether an address is of a provider that is known to fill gaps."""
    return (urlsplit(base).hostname or "") in _BY_HOST


def list_forms(base: str, model: str, program: str) -> Iterator[FillForm]:
    """Yield the forms that a server may take, the likeliest first. program: of the server, "" if not known"""
    host = urlsplit(base).hostname or ""
    for name in _BY_HOST.get(host) or _BY_PROGRAM.get(program, ("infill", "suffix", "words")):
        if name != "words" or find_words(model) is not None:
            yield FORMS[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class FillWords:
    """Words that a family of models was trained with. after: the prefix comes after the suffix"""

    pattern: re.Pattern[str]
    prefix: str
    suffix: str
    middle: str
    after: bool = False

    def build_prompt(self, gap: Gap) -> str:
        """Return the prompt of a gap."""
        parts = [self.prefix + gap.prefix, self.suffix + gap.suffix]
        return "".join(reversed(parts) if self.after else parts) + self.middle


def find_words(model: str) -> FillWords | None:
    """Return the words of a model by its name, None if its family is not known to fill gaps."""
    return next((each for each in _FAMILIES if each.pattern.search(model.lower())), None)


_FAMILIES = (
    FillWords(
        pattern=compile_lazily(r"qwen[0-9.]*-?coder|codegemma|granite-?4"),
        prefix="<|fim_prefix|>", suffix="<|fim_suffix|>", middle="<|fim_middle|>",
    ),
    FillWords(
        pattern=compile_lazily(r"starcoder|santacoder|granite|stable-?code"),
        prefix="<fim_prefix>", suffix="<fim_suffix>", middle="<fim_middle>",
    ),
    FillWords(
        pattern=compile_lazily(r"deepseek-?(?:coder|v[234])"),
        prefix="<｜fim▁begin｜>", suffix="<｜fim▁hole｜>", middle="<｜fim▁end｜>",
    ),
    FillWords(
        pattern=compile_lazily(r"code-?llama"), prefix="<PRE> ", suffix=" <SUF>", middle=" <MID>"
    ),
    FillWords(
        pattern=compile_lazily(r"codestral|devstral"), prefix="[PREFIX]", suffix="[SUFFIX]", middle="", after=True
    ),
)  # fmt: skip


_MEASURED = 16
"""Tokens of which the time for reading is a measurement."""

_ALTERNATIVES = 12
"""Tokens that are told beside the one which a grammar let through: it may be the beginning of a likelier one."""


def _build_infill(model: str, gap: Gap) -> Mapping[str, Any]:
    # The probabilities are those before the grammar leaves one text: llama.cpp, `post_sampling_probs`.
    forced = {"grammar": f"root ::= {json.dumps(gap.forced, ensure_ascii=False)}"} if gap.forced else {}
    return {
        **forced,
        "input_prefix": gap.prefix,
        "input_suffix": gap.suffix,
        "input_extra": [{"filename": name, "text": text} for name, text in gap.beside],
        "n_predict": gap.tokens,
        "temperature": gap.temperature,
        "seed": gap.seed,
        "stop": list(gap.stop),
        "n_probs": _ALTERNATIVES if gap.forced else 1,
        "cache_prompt": True,
        "stream": False,
    }


def _build_ollama(model: str, gap: Gap) -> Mapping[str, Any]:
    options = {
        "temperature": gap.temperature,
        "seed": gap.seed,
        "num_predict": gap.tokens,
        "stop": list(gap.stop),
    }
    prompt = _put_before(gap)
    return {
        "model": model,
        "prompt": prompt,
        "suffix": gap.suffix,
        "stream": False,
        "logprobs": True,
        "options": options,
    }


def _build_suffix(model: str, gap: Gap) -> Mapping[str, Any]:
    return {
        **_build_completion(model, gap, _put_before(gap)),
        "suffix": gap.suffix,
    }


def _build_words(model: str, gap: Gap) -> Mapping[str, Any] | None:
    words = find_words(model)
    if words is None:
        return None
    given = Gap(prefix=_put_before(gap), suffix=gap.suffix)
    return _build_completion(model, gap, words.build_prompt(given))


def _build_completion(model: str, gap: Gap, prompt: str) -> dict[str, Any]:
    return {
        "model": model,
        "prompt": prompt,
        "max_tokens": gap.tokens,
        "temperature": gap.temperature,
        "seed": gap.seed,
        "stop": list(gap.stop),
        "logprobs": 1,
        "stream": False,
    }


def _build_mistral(model: str, gap: Gap) -> Mapping[str, Any]:
    return {
        "model": model,
        "prompt": _put_before(gap),
        "suffix": gap.suffix,
        "max_tokens": gap.tokens,
        "temperature": gap.temperature,
        "random_seed": gap.seed,
        "stop": list(gap.stop),
        "stream": False,
    }


def _put_before(gap: Gap) -> str:
    """Return the prefix with the other files before it, as comments, for forms that have no place for them."""
    parts = []
    for name, text in gap.beside:
        mark = "#" if name.endswith((".py", ".rb", ".sh")) else "//"
        lines = "\n".join(f"{mark} {line}" for line in text.splitlines())
        parts.append(f"{mark} {name}\n{lines}\n\n")
    return "".join(parts) + gap.prefix


def _parse_infill(answer: Mapping[str, Any]) -> Filling | None:
    listed = answer.get("completion_probabilities")
    return _make_filling(answer.get("content"), _join_split_tokens(listed), _read_speed(answer))


def _parse_ollama(answer: Mapping[str, Any]) -> Filling | None:
    tokens = _list_tokens(answer.get("logprobs"), "token", "logprob")
    count, spent = answer.get("prompt_eval_count"), answer.get("prompt_eval_duration")
    return _make_filling(answer.get("response"), tokens, _compute_speed(count, spent, 1e9))


def _parse_choice(answer: Mapping[str, Any]) -> Filling | None:
    choice = _get_choice(answer)
    told = choice.get("logprobs")
    tokens: list[tuple[str, float]] = []
    if isinstance(told, dict) and isinstance(told.get("content"), list):  # llama.cpp, in the form of chat
        tokens = _list_tokens(told["content"], "token", "logprob")
    elif isinstance(told, dict) and isinstance(told.get("tokens"), list):
        values = told.get("token_logprobs")
        pairs = zip(told["tokens"], values if isinstance(values, list) else [], strict=False)
        tokens = [(str(name), float(value)) for name, value in pairs if _is_number(value)]
    return _make_filling(choice.get("text"), tokens, _read_speed(answer))


def _parse_mistral(answer: Mapping[str, Any]) -> Filling | None:
    message = _get_choice(answer).get("message")
    return _make_filling(message.get("content") if isinstance(message, dict) else None, [])


def _get_choice(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}


def _list_tokens(listed: object, name: str, value: str) -> list[tuple[str, float]]:
    entries = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    return [(str(each.get(name, "")), float(each[value])) for each in entries if _is_number(each.get(value))]


def _join_split_tokens(listed: object) -> list[tuple[str, float]]:
    """Return the likeliest tokens of a text with their log-probabilities.

    A grammar takes two tokens where one was about as likely, and the model finds the second one absurd: a closing
    quote and a colon cost 15 more than both in one token.
    """
    tokens = _list_tokens(listed, "token", "logprob")
    if not isinstance(listed, list) or len(tokens) != len(listed):
        return tokens
    text = "".join(token for token, _ in tokens)
    starts = [0, *accumulate(len(token) for token, _ in tokens)]
    places = {
        start: number for number, start in reversed([*enumerate(starts)])
    }  # of an empty last token, its own
    best: list[list[tuple[str, float]]] = [[]]
    for number in reversed(range(len(tokens))):
        ways = [[tokens[number], *best[0]]]
        for token, value in _list_tokens(listed[number].get("top_logprobs"), "token", "logprob"):
            after = places.get(starts[number] + len(token), 0)
            if after > number + 1 and text.startswith(token, starts[number]):
                ways.append([(token, value), *best[after - number - 1]])
        best.insert(0, max(ways, key=lambda way: sum(value for _, value in way)))
    return best[0]


def _read_speed(answer: Mapping[str, Any]) -> float:
    """Return the speed that llama.cpp tells, with which it read the tokens that were not in its cache."""
    told = answer.get("timings")
    told = told if isinstance(told, dict) else {}
    return _compute_speed(told.get("prompt_n"), told.get("prompt_ms"), 1e3)


def _compute_speed(count: Any, spent: Any, second: float) -> float:
    """Return tokens a second, 0 for few tokens, whose time says little. spent: in parts of which `second` are one"""
    if not _is_number(count) or not _is_number(spent) or count < _MEASURED or not spent > 0:
        return 0.0
    return float(count * second / spent)


def _make_filling(text: object, tokens: Sequence[tuple[str, float]], speed: float = 0.0) -> Filling | None:
    if not isinstance(text, str):
        return None
    score = sum(value for _, value in tokens) / len(tokens) if tokens else 0.0
    return Filling(text=text.rstrip(), score=score, scores=tuple(tokens), speed=speed)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _find_root(base: str) -> str:
    return base.rstrip("/").removesuffix("/v1")


FORMS: Mapping[str, FillForm] = {
    each.name: each
    for each in (
        FillForm(
            name="infill", url=lambda base: f"{_find_root(base)}/infill", body=_build_infill, parse=_parse_infill,
            forces=True,
        ),
        FillForm(
            name="ollama", url=lambda base: f"{_find_root(base)}/api/generate", body=_build_ollama,
            parse=_parse_ollama, ignores=True,
        ),
        FillForm(
            name="suffix", url=lambda base: f"{base.rstrip('/')}/completions", body=_build_suffix,
            parse=_parse_choice, ignores=True,
        ),
        FillForm(
            name="words", url=lambda base: f"{base.rstrip('/')}/completions", body=_build_words,
            parse=_parse_choice, ignores=True,
        ),
        FillForm(
            name="deepseek", url=lambda base: f"{_find_root(base)}/beta/completions", body=_build_suffix,
            parse=_parse_choice,
        ),
        FillForm(
            name="mistral", url=lambda base: f"{_find_root(base)}/v1/fim/completions", body=_build_mistral,
            parse=_parse_mistral,
        ),
    )
}  # fmt: skip
"""All forms by name, which is remembered of a server."""

_BY_PROGRAM: Mapping[str, tuple[str, ...]] = {
    "llama.cpp": ("infill",),
    "ollama": ("ollama",),
    "vllm": ("words", "suffix"),
    "lmstudio": ("words",),
}

_BY_HOST: Mapping[str, tuple[str, ...]] = {
    "api.deepseek.com": ("deepseek",),
    "api.mistral.ai": ("mistral",),
    "codestral.mistral.ai": ("mistral",),
}
