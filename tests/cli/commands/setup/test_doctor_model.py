"""`patchwright doctor --model`: what a server says, with its source, and an exit code for one that is gone."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from agent.app_dirs import Home
from agent.context.profile.profiles import explain_profile
from agent.exit_codes import Exit
from agent.model.servers.server_facts import ServerFacts, ServerMemory
from cli.commands.setup.doctor_model import run_model_report
from sandbox.errors import UserError
from tests.agent.model.servers.test_server_probe import LLAMACPP, OLLAMA_DEFAULT, VLLM, serve


@pytest.mark.slow
def test_what_a_server_says_is_shown_with_its_source(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve(OLLAMA_DEFAULT) as (base, _):
        assert run_model_report(tmp_path, "tiny", base, as_json=False) == Exit.DONE
    page = capsys.readouterr().out
    assert f"server  {base}/chat/completions (ollama): reachable" in page
    assert "window  4,096 tokens (Ollama's default)" in page
    assert "tools   no: they are described in words (/api/show)" in page
    assert "profile tiny (a window of up to 4,096 tokens)" in page
    assert "edits   replace, whole (family: unknown)" in page
    assert "calls   no form is remembered yet" in page
    with serve(LLAMACPP) as (base, _):
        run_model_report(tmp_path, "tiny", base, as_json=True)
    page = json.loads(capsys.readouterr().out)
    assert (page["program"], page["window"], page["tools"]) == ("llama.cpp", 8192, None)


def test_the_profile_has_its_reason_and_the_form_of_calls_its_day(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATCHWRIGHT_HOME", str(tmp_path / "home"))
    home = Home.from_environment()
    with serve(VLLM) as (base, _):
        ServerMemory(home.cache).remember(base, "tiny", ServerFacts(format="json"))
        assert run_model_report(tmp_path, "tiny", base, as_json=False) == Exit.DONE
        page = capsys.readouterr().out
        run_model_report(tmp_path, "tiny", base, as_json=True)
        facts = json.loads(capsys.readouterr().out)
    assert "profile generic (a window above 16,384 tokens, and no small size in the name)" in page
    today = time.strftime("%Y-%m-%d")
    assert (
        f"calls   one JSON object, which the server enforces (the model got it right; remembered {today})"
        in page
    )
    assert (facts["profile"], facts["format"], facts["edits"]) == ("generic", "json", ["replace", "whole"])
    home.config.mkdir(parents=True)
    (home.config / "settings.toml").write_text('[models]\nprofile = "small"\n[edit]\nformats = ["whole"]\n')
    run_model_report(tmp_path, "qwen3:1.7b", "http://127.0.0.1:9/v1", as_json=False)
    page = capsys.readouterr().out
    assert "profile small (models.profile in your settings)" in page
    assert "edits   whole (edit.formats in your settings)" in page


@pytest.mark.parametrize(
    ("setting", "window", "model", "profile", "reason"),
    [
        ("auto", 32_768, "ollama/qwen3:1.7b", "small", "by its name (1.7b)"),
        ("auto", 16_384, "openai/mine", "small", "a window of up to 16,384 tokens"),
        ("tiny", 200_000, "openai/mine", "tiny", "your settings"),
        ("auto", 8_192, "scripted:x.yaml", "generic", "reads no instructions"),
    ],
)
def test_each_reason(setting: str, window: int, model: str, profile: str, reason: str) -> None:
    found, told = explain_profile(setting, window, model)
    assert found.name == profile
    assert reason in told


def test_what_the_settings_ask_of_a_provider_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATCHWRIGHT_MODELS__EFFORT", "max")
    prices = []
    for service in ("flex", "standard"):
        monkeypatch.setenv("PATCHWRIGHT_MODELS__SERVICE", service)
        run_model_report(tmp_path, "openai/gpt-5.5", "http://127.0.0.1:9/v1", as_json=False)
        page = capsys.readouterr().out
        assert f"asked   effort max, service {service} ([models] in your settings)" in page
        prices.append(float(page.partition("price   $")[2].split()[0]))
    assert prices[0] == prices[1] / 2


def test_a_server_that_is_gone_has_its_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run_model_report(tmp_path, "tiny", "http://127.0.0.1:9/v1", as_json=False) == Exit.MODEL_UNREACHABLE
    )
    assert "not reachable" in capsys.readouterr().out


def test_models_without_a_server_are_told_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_model_report(tmp_path, "offline", None, as_json=False) == Exit.DONE
    assert capsys.readouterr().out.splitlines()[0] == "model   offline"
    with pytest.raises(UserError, match="unknown model"):
        run_model_report(tmp_path, "nonsense", None, as_json=False)
