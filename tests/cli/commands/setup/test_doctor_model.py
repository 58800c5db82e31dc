"""`patchwright doctor --model`: what a server says, with its source, and an exit code for one that is gone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.exit_codes import Exit
from cli.commands.setup.doctor_model import run_model_report
from sandbox.errors import UserError
from tests.agent.model.servers.test_server_probe import LLAMACPP, OLLAMA_DEFAULT, serve


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
    with serve(LLAMACPP) as (base, _):
        run_model_report(tmp_path, "tiny", base, as_json=True)
    page = json.loads(capsys.readouterr().out)
    assert (page["program"], page["window"], page["tools"]) == ("llama.cpp", 8192, None)


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
