"""Which words of a hook name what it runs: files that it only looks at leave the trust in it as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import call, run, script
from tests.support.repo import Repo
from tools.git.broker import Broker
from tools.git.hook_words import drop_inspected_words

LOOKED_AT = [
    "git diff --cached --name-only -- 'x.sh'",
    "files=$(git diff --cached --name-only --diff-filter=ACM -- 'x.sh'); [ -z \"$files\" ] || exit 1",
    "grep -q secret x.sh && exit 1",
    "git show :x.sh | grep -q twice || exit 1",
    "if [ -f x.sh ]; then echo x.sh >> x.sh; fi",
    "git add x.sh",
    "sed -n 's/^version = //p' x.sh | grep -q 2 || exit 1",
    "version=$(sed -E -e 's/a/b/' -e '/^c/d' x.sh); [ -n \"$version\" ] || exit 1",
    "git diff --name-only -- x.sh | xargs -r -n 20 flake8 --max-line-length 100",
    "git diff -z --name-only -- x.sh | xargs -0 env LC_ALL=C grep -n tab && exit 1",
    "env LC_ALL=C grep -q secret y.txt; grep -q secret x.sh && exit 1",
    "test -f x.sh || exit 0; exec timeout 60 python -m pytest -q",
    "files=$(git diff --name-only -- x.sh); python3 -m flake8 $files",
    "grep -q a x.sh; nice -n 5 npx eslint .",
]
RUN = [
    "./x.sh",
    "sh x.sh",
    ". ./x.sh",
    "cat x.sh | sh",
    'code=$(cat x.sh); eval "$code"',
    "$(cat x.sh)",
    "grep . x.sh > run; chmod +x run; ./run",
    "git grep -Osh . x.sh",
    "git show :x.sh | xargs -n1 env",
    'grep() { sh "$2"; }\ngrep -q x.sh',
    "for f in x.sh; do $f; done",
    "sed -n 1e x.sh",
    "echo x.sh | xargs sh",
    "git ls-files x.sh | xargs -n 1 env A=1",
    "printf '%s' x.sh | xargs -I{} sh -c {}",
    "f=x.sh; test -f x.sh; sh $f",
    'for f in $(git diff --name-only -- x.sh); do bash "$f"; done',
    "echo x.sh > list; xargs -a list sh",
    "cat x.sh | timeout 5 python3 -",
    "git show :x.sh | env -i bash",
    "sed 's/.*/cat &/e' x.sh",
    "sed -n w\\ run x.sh; sh run",
    "sed -i s/a/b/ x.sh",
    "sed -f x.sh y",
    "grep -h . x.sh | command sh",
    "env -S 'sh x.sh'",
    "sort --compress-program=./x.sh big",
]


@pytest.mark.parametrize("line", LOOKED_AT)
def test_a_file_that_a_hook_looks_at_is_none_of_its_programs(line: str) -> None:
    assert "x.sh" not in drop_inspected_words(f"#!/bin/sh\n{line}\n")


@pytest.mark.parametrize("line", RUN)
def test_what_a_hook_may_run_stays(line: str) -> None:
    assert "x.sh" in drop_inspected_words(f"#!/bin/sh\n{line}\n")


def test_text_that_is_no_shell_script_stays_as_it_is() -> None:
    for text in ("test x.sh\n", "#!/usr/bin/env python3\ntest = 'x.sh'\n", "#!/bin/sh\ntest x.sh 'open\n"):
        assert drop_inspected_words(text) == text


@pytest.mark.parametrize("line", LOOKED_AT)
def test_a_hook_without_an_interpreter_is_read_as_the_shell_reads_it(line: str, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("x.sh", "a\n")
    for folder in (".git/hooks", ".husky"):
        repo.hook("pre-commit", "true", folder=folder).write_text(f"{line}\n")
    broker = Broker(repo.root)
    assert "x.sh" not in [each.name for each in broker.program_definitions]


@pytest.mark.slow
@pytest.mark.parametrize(
    "check",
    [
        "for f in $(git diff --cached --name-only -- '*.py'); do echo \"no: $f\"; exit 1; done",
        "git grep -n 'return 2' -- '*.py' && exit 1; exit 0",
        "grep -q 'return 2' a.py && exit 1; exit 0",
    ],
)
def test_a_trusted_hook_runs_after_a_change_of_the_files_that_it_checks(tmp_path: Path, check: str) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("a.py", "def f():\n    return 1\n")
    repo.commit_all("Begin")
    repo.hook("pre-commit", check)
    assert run("trust", cwd=repo.root, stdin="y\n").code == 0
    head = repo.head()
    edit = {"calls": [call("edit", path="a.py", old="return 1", new="return 2")]}
    model = script(repo.root.parent, [edit, {"text": "Done."}, {"text": "I cannot."}])
    result = run("run", "make f return 2", "--model", model, "--tests", "true", cwd=repo.root)
    assert (result.code, repo.head()) == (13, head), result.err
