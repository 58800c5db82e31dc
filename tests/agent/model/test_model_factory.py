from __future__ import annotations

import ast
import asyncio
import importlib.util
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent.model.http.http_model import HttpModel
from agent.model.model_factory import choose_default_model, resolve_model
from agent.model.protocol import Request
from agent.model.providers.endpoints import BARE, DEFAULTS, ENDPOINTS, LITELLM
from agent.model.providers.model_catalog import Catalog
from agent.model.scripted.scripted_model import ScriptedModel
from agent.model.text_tools import TextTools
from sandbox.errors import Fault, UserError
from tests.support.asking import reply, user
from tests.support.loopback import Loopback

NO_KEYS: Mapping[str, str] = {}


def url_of(name: str, env: Mapping[str, str], cache: Path, api_base: str | None = None) -> str:
    model = resolve_model(name, api_base, env, cache)
    assert model.name == name
    model = model.inner if isinstance(model, TextTools) else model
    assert isinstance(model, HttpModel)
    return re.sub("/(chat/completions|responses|messages)$", "", model.url)


@pytest.mark.parametrize("provider", [name for name, endpoint in ENDPOINTS.items() if endpoint.keys])
def test_a_provider_is_reached_with_its_key_and_not_without(provider: str, tmp_path: Path) -> None:
    endpoint = ENDPOINTS[provider]
    for variable in endpoint.keys:
        assert url_of(f"{provider}/some-model", {variable: "key"}, tmp_path) == endpoint.base
    with pytest.raises(UserError, match=endpoint.keys[0]) as caught:
        resolve_model(f"{provider}/some-model", None, NO_KEYS, tmp_path)
    assert caught.value.fault is Fault.CREDENTIALS


def test_a_server_of_one_s_own_needs_no_key(tmp_path: Path) -> None:
    own = "http://127.0.0.1:9999/v1"
    for name in ("openai/x", "groq/x", "gpt-4o", "claude-sonnet-5", "Qwen/Qwen3-Coder", "anything"):
        assert url_of(name, NO_KEYS, tmp_path, own) == own
    assert url_of("openai/x", {"OPENAI_BASE_URL": own}, tmp_path) == own


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://localhost:11434/v1"),
        ("0.0.0.0", "http://localhost:11434/v1"),
        ("box:4000", "http://box:4000/v1"),
        ("https://box", "https://box:443/v1"),
        ("http://box:11434/", "http://box:11434/v1"),
        ("[::1]:5000", "http://[::1]:5000/v1"),
        (":5000", "http://localhost:5000/v1"),
        ("http://box/ollama/v1", "http://box:11434/ollama/v1"),
    ],
)
def test_ollama_is_found_where_its_variable_says(host: str, url: str, tmp_path: Path) -> None:
    assert url_of("ollama/llama3", {"OLLAMA_HOST": host}, tmp_path) == url


@pytest.mark.parametrize("provider", ["ollama", "lmstudio", "vllm", "llamacpp"])
def test_a_local_server_needs_nothing(provider: str, tmp_path: Path) -> None:
    assert url_of(f"{provider}/m", NO_KEYS, tmp_path).startswith("http://localhost:")


def test_what_the_server_is_told(tmp_path: Path) -> None:
    with Loopback() as server:
        env = {"OPENAI_API_KEY": " sk-1 ", "OPENAI_BASE_URL": server.url}
        for name in ("openai/gpt-4o", "together/meta-llama/Llama-3.3", "org/model"):
            model = resolve_model(name, server.url, env, tmp_path)
            asyncio.run(reply(model, Request(system="", messages=[user("hi")], max_output=5)))
            asyncio.run(model.close())
        told = [(each.body["model"], each.headers.get("authorization")) for each in server.requests]
        assert all(each.body["max_tokens"] == 5 for each in server.requests)
    assert told == [("gpt-4o", "Bearer sk-1"), ("meta-llama/Llama-3.3", None), ("org/model", "Bearer sk-1")]


def test_the_window_is_known_before_the_first_request_once_the_catalog_was_read(tmp_path: Path) -> None:
    env = {"OPENAI_API_KEY": "k"}
    assert resolve_model("openai/gpt-4.1", None, env, tmp_path).window == 128_000
    Catalog(tmp_path).find(["gpt-4.1"])
    assert resolve_model("openai/gpt-4.1", None, env, tmp_path).window > 1_000_000


def test_price_and_window_come_with_the_first_reply_of_a_known_model(tmp_path: Path) -> None:
    with Loopback([{"text": "ok", "usage": {"input": 1000, "output": 10}}]) as server:
        model = resolve_model("openai/gpt-4.1", server.url, NO_KEYS, tmp_path)
        got = asyncio.run(reply(model, Request(system="", messages=[user("hi")])))
    assert got.usage.cost is not None
    assert got.usage.cost > 0
    assert model.window > 1_000_000


@pytest.mark.parametrize("name", ["", "nonsense", "no/such", "openai/", "/x", "scriptedfile", "litellm/x"])
def test_a_name_that_nobody_knows_is_refused_with_the_forms(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="unknown model") as caught:
        resolve_model(name, None, NO_KEYS, tmp_path)
    assert caught.value.fault is Fault.CONFIGURATION
    assert repr(name) in caught.value.message
    assert "scripted:FILE" in caught.value.hint


def test_a_script_and_the_offline_engine_need_nothing(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text("[]")
    assert isinstance(resolve_model(f"scripted:{tmp_path}/s.json", None, NO_KEYS, tmp_path), ScriptedModel)
    assert resolve_model("offline", None, NO_KEYS, tmp_path).name == "offline"


@pytest.mark.parametrize("name", ["anthropic/claude-sonnet-5", "claude-sonnet-5", "gemini/x", "azure/x"])
def test_a_key_that_is_missing_is_told(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="needs a key") as caught:
        resolve_model(name, None, NO_KEYS, tmp_path)
    assert caught.value.fault is Fault.CREDENTIALS


def test_a_key_alone_chooses_a_model() -> None:
    assert choose_default_model(NO_KEYS) is None
    assert choose_default_model({"OPENAI_API_KEY": ""}) is None
    assert choose_default_model({"ANTHROPIC_API_KEY": "k"}) == DEFAULTS["ANTHROPIC_API_KEY"]
    assert choose_default_model({"GROQ_API_KEY": "k", "OPENAI_API_KEY": "k"}) == DEFAULTS["OPENAI_API_KEY"]


def test_what_a_key_chooses_is_a_model_that_exists_and_that_the_key_opens(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    for variable, name in DEFAULTS.items():
        provider, _, model = name.partition("/")
        keys = ENDPOINTS[provider].keys if provider in ENDPOINTS else LITELLM[provider]
        assert variable in keys
        if provider != "openrouter":  # its router is no model, and has no price of its own
            assert catalog.find([name, model]) is not None, name


def test_every_provider_left_to_litellm_is_one_that_litellm_knows() -> None:
    spec = importlib.util.find_spec("litellm")
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).with_name("types") / "utils.py"
    classes = [node for node in ast.parse(source.read_text()).body if isinstance(node, ast.ClassDef)]
    body = next(node for node in classes if node.name == "LlmProviders").body
    known = {ast.literal_eval(each.value) for each in body if isinstance(each, ast.Assign)}
    assert set(LITELLM) <= known
    assert set(BARE.values()) <= set(LITELLM) | set(ENDPOINTS)
    assert not set(LITELLM) & set(ENDPOINTS)


@pytest.mark.slow
def test_resolving_imports_only_what_the_name_needs(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from agent.model.model_factory import choose_default_model, resolve_model
from sandbox.errors import UserError
choose_default_model({})
try:
    resolve_model("anthropic/without-a-key", None, {}, Path(sys.argv[1]))
except UserError:
    pass
light = set(sys.modules)
resolve_model("openai/x", "http://localhost:1/v1", {}, Path(sys.argv[1]))
heavy = {"litellm", "httpx", "openai", "pydantic", "yaml", "urllib.request"}
print(sorted(heavy & set(sys.modules)), "http.client" in light)
"""
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "False"]
