"""`patchwright skill`: list, show, new, add, check."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner, Result

from agent.app_dirs import Home
from cli.app import app
from sandbox.errors import UserError
from tests.support.cli import git


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def test_a_skill_is_made_trusted_and_shown(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    place = ("-C", str(tmp_path))
    assert "no skills" in run("skill", *place).stderr
    made = run("skill", "new", "greet", *place)
    path = tmp_path / ".patchwright/skills/greet/SKILL.md"
    assert (made.exit_code, made.stdout.strip()) == (0, str(path))
    assert "patchwright trust" in made.stderr
    assert isinstance(run("skill", "new", "greet", *place).exception, UserError)
    bad = run("skill", "new", "A b", *place).exception
    assert isinstance(bad, UserError)
    assert "capital letters" in bad.message
    path.write_text(path.read_text().replace("---\n\n", "allowed-tools: Bash(git:*) Read\n---\n\n", 1))
    assert json.loads(run("skill", "list", "--json", *place).stdout) == []
    trusted = run("trust", *place).stdout
    assert "skill .patchwright/skills/greet: Say what it does" in trusted
    assert "would like, and is not granted: Bash(git:*), Read" in trusted
    shown = json.loads(run("skill", "show", "greet", "--json", *place).stdout)
    assert (shown["would_like"], shown["source"]) == (["Bash(git:*)", "Read"], ".patchwright/skills/greet")
    assert "would like, and is not granted: Bash(git:*), Read" in run("skill", "show", "greet", *place).stdout
    checked = run("skill", "check", "--strict", *place)
    assert (checked.exit_code, checked.stdout) == (0, "1 skill, 0 bad, 0 deviations from the format\n")
    unknown = run("skill", "show", "nobody", *place).exception
    assert isinstance(unknown, UserError)
    assert unknown.hint == "Skills: greet."


def test_skills_are_added_from_a_folder(tmp_path: Path) -> None:
    source = tmp_path / "pack" / "greet"
    (source / "scripts").mkdir(parents=True)
    (source / "SKILL.md").write_text("---\nname: Greet\ndescription: Greets\nversion: 1\n---\nHello.")
    (source / "scripts/hi.sh").write_text("echo hi")
    (source / "scripts/hi.sh").chmod(0o755)
    (source / "linked").symlink_to(tmp_path)
    (tmp_path / "secret.txt").write_text("secret")
    (source / "secret.txt").symlink_to(tmp_path / "secret.txt")
    place = ("-C", str(tmp_path / "pack"))
    added = run("skill", "add", str(tmp_path / "pack"), "--user", *place)
    folder = Home.from_environment().config / "skills/greet"
    assert added.stdout.splitlines()[-1] == f"added: {folder}"
    assert (folder / "scripts/hi.sh").stat().st_mode & 0o777 == 0o700
    assert not (folder / "linked").exists()
    assert not (folder / "secret.txt").exists()
    assert [each["name"] for each in json.loads(run("skill", "list", "--json", *place).stdout)] == ["greet"]
    checked = run("skill", "check", str(source), "--json")
    assert json.loads(checked.stdout)["deviations"][0].endswith("not in the specification: version")
    assert (checked.exit_code, run("skill", "check", str(source), "--strict").exit_code) == (0, 2)
    again = run("skill", "add", str(source), "--user", *place).exception
    assert isinstance(again, UserError)
    assert again.message.endswith("exists")
    none = run("skill", "add", str(source / "scripts"), *place).exception
    assert isinstance(none, UserError)
    assert "no skill in" in none.message
