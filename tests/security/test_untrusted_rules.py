"""A file of rules that nobody trusts is not parsed: whatever is in it ends no run, no diagnosis and no list."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.app_dirs import Home
from cli.settings.layers import load_settings
from tests.support.cli import call, git, run, script

BROKEN = {
    "no TOML": b"[[rules]\nname = ",
    "bytes": b"\xff\xfe\x00[[rules]]",
    "unknown fields": b'[[rules]]\nname = "a"\nnonsense = 1\n',
    "contradictions": b'[[rules]]\nname = "a"\nkind = "protect"\npaths = ["x"]\n' * 2,
    "other settings": b'mode = "full"\n',
    "no tables": b'rules = "all"\n',
    "deep": b"x = " + b"[" * 20_000 + b"]" * 20_000,
    "a long number": b"x = " + b"9" * 10_000,
    "dots": b".".join([b"a"] * 5_000) + b" = 1",
    "huge": b"#" * 3_000_000,
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / ".patchwright").mkdir(parents=True)
    git(folder, "init", "-q")
    (folder / "cart.py").write_text("RATE = 2\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Start")
    return folder


@pytest.mark.parametrize("what", BROKEN)
def test_an_untrusted_file_is_one_line_and_no_error(what: str, shop: Path) -> None:
    (shop / ".patchwright/rules.toml").write_bytes(BROKEN[what])
    settings = load_settings(Home.from_environment(), shop, {})
    [notice] = settings.notices
    assert notice.startswith(".patchwright/rules.toml is not used, since you have not trusted it")
    assert "\n" not in notice


@pytest.mark.slow
@pytest.mark.parametrize("what", ["no TOML", "unknown fields", "deep"])
def test_no_command_ends_with_it(what: str, shop: Path, tmp_path: Path) -> None:
    (shop / ".patchwright/rules.toml").write_bytes(BROKEN[what])
    model = script(tmp_path, [{"calls": [call("read", path="cart.py")]}, {"text": "Done."}])
    done = run("run", "Look", "--model", model, cwd=shop)
    assert done.code == 0, done.err
    assert "not trusted it" in done.err
    assert "Traceback" not in run("doctor", cwd=shop).err
    listed = run("trust", "--list", cwd=shop)
    assert listed.code == 0, listed.err
    assert "not trusted: " in listed.out


@pytest.mark.slow
@pytest.mark.parametrize("what", ["a long number", "dots", "deep"])
def test_settings_of_a_project_are_one_line_too(what: str, shop: Path) -> None:
    (shop / "patchwright.toml").write_bytes(BROKEN[what])
    for words in (("run", "Look", "--model", "offline"), ("trust", "--list"), ("doctor",)):
        done = run(*words, cwd=shop)
        assert "Traceback" not in done.err + done.out, words
        assert done.code != 70, words


def test_the_other_files_can_be_trusted_beside_it(shop: Path) -> None:
    (shop / ".patchwright/rules.toml").write_bytes(BROKEN["no TOML"])
    (shop / "patchwright.toml").write_text('approval = "ask"\n')
    granted = run("trust", cwd=shop)
    assert "is not valid TOML" in granted.err
    assert "setting patchwright.toml approval" in granted.out
    assert load_settings(Home.from_environment(), shop, {}).notices


def test_a_trusted_file_that_breaks_is_told_as_changed(shop: Path) -> None:
    file = shop / ".patchwright/rules.toml"
    file.write_text('[[rules]]\nname = "a"\nkind = "protect"\npaths = ["x"]\n')
    assert run("trust", cwd=shop).code == 0
    assert load_settings(Home.from_environment(), shop, {}).notices == ()
    file.write_bytes(BROKEN["no TOML"])
    broken = run("run", "Look", "--model", "offline", cwd=shop)
    assert "has changed since you trusted it" in broken.err
