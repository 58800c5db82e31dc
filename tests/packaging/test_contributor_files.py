"""The files that contributors expect: each path they name exists, the workflow covers every supported Python."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.packaging.installing import CHECKOUT, run

PAGES = ("CONTRIBUTING.md", "SECURITY.md", ".github/pull_request_template.md")
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))
YAML_FILES = sorted((CHECKOUT / ".github").rglob("*.yml"))
MADE = {".venv/bin/pre-commit", ".venv/bin/python", ".venv/bin/ruff"}
"""Named, but made by make."""


def read(name: str) -> str:
    return (CHECKOUT / name).read_text("utf-8")


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


@pytest.mark.parametrize("page", PAGES)
def test_every_path_that_a_page_names_exists(page: str) -> None:
    words = [word for code in re.findall(r"`([^`\n]+)`", read(page)) for word in re.split(r"[\s=]+", code)]
    blocks = re.findall(r"^```sh\n(.*?)^```", read(page), re.DOTALL | re.M)
    words += [word for block in blocks for word in block.split()]
    paths = {word for word in words if re.fullmatch(r"\.?\w[\w.-]*(/[\w.-]+)+", word)} - MADE
    files = {word for word in words if re.fullmatch(r"[\w-]+\.(md|toml|py|lock)", word)}
    assert paths or page != "CONTRIBUTING.md"
    assert [path for path in sorted(paths | files) if not (CHECKOUT / path).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_somewhere(page: str) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", read(page)):
        assert ((CHECKOUT / page).parent / target).exists(), target


def test_every_table_that_a_walk_through_names_is_in_the_file_it_names() -> None:
    """`NAME` … `path`, in this order or the other, in one step."""
    named = 0
    for step in re.split(r"\n(?=\d\. |\n)", read("CONTRIBUTING.md").partition("## Walk-throughs")[2]):
        sources = [
            (CHECKOUT / path).read_text("utf-8")
            for path in re.findall(r"`([\w/]+\.py)`", step)
            if "/" in path
        ]
        for name in re.findall(r"`(_?[A-Z][A-Z_]+)`", step):
            named += 1
            assert any(re.search(rf"^{name}\b", source, re.M) for source in sources), name
    assert named >= 9


def test_every_make_target_that_is_named_is_one() -> None:
    phony = re.search(r"^\.PHONY: (.*)$", read("Makefile"), re.M)
    assert phony is not None
    named = re.findall(r"make ([a-z]+)\b", "\n".join(re.findall(r"`[^`\n]*`", read("CONTRIBUTING.md"))))
    assert set(named) <= set(phony[1].split())
    assert set(phony[1].split()) - set(named) == {"help", "demo", "clean"}


# ── .github ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("path", YAML_FILES, ids=lambda path: path.name)
def test_a_file_of_the_host_is_yaml(path: Path) -> None:
    assert isinstance(load(path), dict)


def test_the_workflow_calls_ci_run_on_every_python_that_is_supported() -> None:
    workflow = load(CHECKOUT / ".github/workflows/ci.yml")
    assert workflow["permissions"] == {"contents": "read"}
    (job,) = workflow["jobs"].values()
    pythons = job["strategy"]["matrix"]["python"]
    classified = [each.rpartition(" ")[2] for each in PROJECT["project"]["classifiers"] if ":: 3." in each]
    assert pythons == classified
    assert PROJECT["project"]["requires-python"] == f">={pythons[0]}"
    (step,) = (each for each in job["steps"] if each.get("run") == ".ci/run")
    assert set(step["env"]) == {"PYTHON", "SYSTEM_PYTHON"}, "the one here, and the one of the clone"
    (python,) = (each for each in job["steps"] if each.get("id") == "python")
    assert python["with"]["python-version"] == "${{ matrix.python }}"


def test_updates_are_proposed_for_python_and_for_the_workflow() -> None:
    updates = load(CHECKOUT / ".github/dependabot.yml")["updates"]
    assert [each["package-ecosystem"] for each in updates] == ["pip", "github-actions"]


@pytest.mark.parametrize("name", ["bug", "feature"])
def test_an_issue_template_has_fields_with_names_of_their_own(name: str) -> None:
    template = load(CHECKOUT / f".github/ISSUE_TEMPLATE/{name}.yml")
    assert template["name"]
    assert template["description"]
    fields = [each["id"] for each in template["body"] if each["type"] != "markdown"]
    assert fields
    assert len(set(fields)) == len(fields)


def test_vulnerabilities_are_reported_in_private_and_to_no_invented_address() -> None:
    text = read("SECURITY.md")
    assert "Report a vulnerability" in text
    assert re.findall(r"\S+@\S+|mailto:", text) == []
    assert {"docs/security.md", "docs/attacks.md"} <= set(re.findall(r"\]\(([^)]+)\)", text))


# ── Coverage ─────────────────────────────────────────────────────────────────────────────────────────


def test_coverage_measures_lines_and_branches_of_the_floors_and_has_a_threshold() -> None:
    settings = PROJECT["tool"]["coverage"]
    assert settings["run"]["branch"] is True
    assert {"cli", "agent", "tools", "sandbox"} <= set(settings["run"]["source_dirs"])
    assert settings["report"]["fail_under"] > 0
    assert any(str(each).startswith("coverage") for each in PROJECT["dependency-groups"]["dev"])


@pytest.mark.slow
def test_coverage_counts_what_a_process_runs_that_a_test_starts(tmp_path: Path) -> None:
    """As `make coverage` has it: the command that is measured runs nothing of ours, its child does."""
    code = (
        f"import subprocess, sys; subprocess.run([{sys.executable!r}, '-m', 'patchwright', 'config', 'path'])"
    )
    (tmp_path / "start.py").write_text(code)
    data = f"--data-file={tmp_path / 'data'}"
    coverage = (sys.executable, "-m", "coverage")
    rc = f"--rcfile={CHECKOUT / 'pyproject.toml'}"
    run(*coverage, "run", rc, data, tmp_path / "start.py", cwd=CHECKOUT)
    run(*coverage, "combine", rc, data, "--quiet", cwd=CHECKOUT)
    table = run(*coverage, "report", rc, data, "--fail-under=0", "--include=cli/app.py", cwd=CHECKOUT)
    covered = float(table.splitlines()[-1].split()[-1].rstrip("%"))
    assert covered > 20
