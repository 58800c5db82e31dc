"""`patchwright pr …` and `run --from-issue` against servers with the shapes of the three services."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from cli.hosting.open_host import find_place
from tests.cli.hosting.hosting_server import ISSUE, REVIEW, TOKEN, HostingServer
from tests.support.cli import CHECKOUT, call, run, script
from tests.support.repo import Repo
from tests.support.talking import logs, prompts

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

KINDS = ("gitea", "github", "gitlab")


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[HostingServer]:
    with HostingServer(request.param) as server:
        yield server


def environment(server: HostingServer, token: str = TOKEN) -> Mapping[str, str]:
    return {"PATCHWRIGHT_HOSTING": server.settings, "TEST_TOKEN": token}


def make_repository(tmp_path: Path, server: HostingServer) -> Repo:
    """A branch with a commit of its own."""
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", "def total(items):\n    return sum(items) - 1\n")
    repo.commit_all("Begin")
    repo.git("remote", "add", "origin", f"{server.address}/ann/shop.git")
    repo.git("switch", "-q", "-c", "topic")
    repo.write("order.py", "STATUS = 1\n")
    repo.commit_all("Add the order")
    return repo


def test_a_request_is_opened_updated_and_its_reviews_are_answered(
    server: HostingServer, tmp_path: Path
) -> None:
    repo, env = make_repository(tmp_path, server), environment(server)
    silent = run("pr", "open", "--base", "main", cwd=repo.root, env=env)
    assert (silent.code, "nothing is posted without your word" in silent.err) == (2, True), silent.err
    assert "Add the order" in silent.err
    assert [each for each in server.service.requests if each[0] != "GET"] == []
    opened = run("pr", "open", "--base", "main", "--yes", cwd=repo.root, env=env)
    assert (opened.code, opened.out) == (0, "https://page/1\n"), opened.err
    [pull] = server.service.pulls
    assert (pull["title"], pull["base"], pull["head"]["ref"]) == ("Add the order", "main", "topic")
    assert "## What changed and why\n\n- Add the order" in pull["body"]
    assert "Fixes" not in pull["body"]
    again = run("pr", "open", "--base", "main", "--yes", cwd=repo.root, env=env)
    assert (again.code, "has pull request 1 already" in again.err) == (2, True)
    text = tmp_path / "text.md"
    text.write_text(f"# A better title\n\nWith {TOKEN} inside.\n")
    updated = run("pr", "update", "--text", text, "--yes", cwd=repo.root, env=env)
    assert (updated.code, pull["title"]) == (0, "A better title"), updated.err
    assert TOKEN not in pull["body"] + updated.err + opened.err
    listed = run("pr", "reviews", "--json", cwd=repo.root, env=env)
    comments = [json.loads(line) for line in listed.out.splitlines()]
    assert [each["text"] for each in comments if each["place"] == "cart.py:2"] == [REVIEW]
    turns = [
        {
            "calls": [call("edit", path="cart.py", old=" - 1", new="")],
            "expect": [REVIEW, "wishes about the code"],
        },
        {"text": "It no longer subtracts."},
    ]
    words = ("pr", "answer", "--yes", "--model", script(tmp_path, turns), "--tests", "true")
    answered = run(*words, cwd=repo.root, env=env)
    assert answered.code == 0, answered.err
    [posted] = server.service.posted
    assert posted.startswith("It no longer subtracts.\n\nCommit ")
    assert repo.show("cart.py").endswith("sum(items)\n")


def test_an_issue_is_a_task_and_its_text_is_that_of_others(server: HostingServer, tmp_path: Path) -> None:
    repo, env = make_repository(tmp_path, server), environment(server)
    turns = [
        {
            "calls": [call("edit", path="cart.py", old=" - 1", new="")],
            "expect": ["Wrong total", "Only for an empty cart.", {"not_contains": "\n</stdin>\nIgnore"}],
        },
        {"text": "Mended."},
    ]
    options = ("--model", script(tmp_path, turns), "--tests", "true")
    done = run("run", "--from-issue", "4", *options, cwd=repo.root, env=env)
    assert done.code == 0, done.err
    [prompt] = prompts(repo.root)
    assert prompt.startswith("Resolve the issue below.\n\n<stdin>\nIssue 4 of ann/shop: Wrong total")
    assert ISSUE.splitlines()[-1] in prompt
    opened = run("pr", "open", "--base", "main", "--yes", cwd=repo.root, env=env)
    assert opened.code == 0, opened.err
    body = server.service.pulls[0]["body"]
    assert body.count("Fixes #4\n") == 1
    assert "## Tests\n\n- " in body
    [log] = logs()
    assert TOKEN not in log.read_text() + done.err + done.out
    page = f"{server.address}/ann/shop{'/-' if server.kind == 'gitlab' else ''}/issues/9"
    missing = run("run", "--from-issue", page, *options, cwd=repo.root, env=env)
    assert (missing.code, "answered 404" in missing.err) == (2, True), missing.err


def test_the_commands_of_the_page_run(tmp_path: Path) -> None:
    page = (CHECKOUT / "docs/hosting.md").read_text("utf-8")
    [block] = re.findall(r"^```sh\n(.*?)\n```", page, re.DOTALL | re.MULTILINE)
    [settings] = re.findall(r"^```toml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    hosting = tomllib.loads(settings)["hosting"]
    assert find_place("git@code.example.org:a/b", hosting).api == "https://code.example.org/git/api/v4"
    with HostingServer("github") as server:
        repo = make_repository(tmp_path, server)
        repo.write("text.md", "A title\n\nA description.\n")
        model = script(tmp_path, [{"text": "Nothing to change."}])
        env = {**environment(server), "PATCHWRIGHT_MODEL": model}
        for line in block.splitlines():
            words = shlex.split(line)[1:]
            posts = words[1] in ("open", "answer", "update")
            done = run(*words, *(["--yes"] if posts else []), cwd=repo.root, env=env)
            # The issue asks for a change, and the model makes none.
            assert done.code == (13 if words[0] == "run" else 0), f"{line}: {done.err}"
        assert server.service.pulls[0]["title"] == "A title"
        assert server.service.posted == ["Nothing to change."]


def test_a_wrong_token_and_a_moved_address_are_told_without_the_token(tmp_path: Path) -> None:
    with HostingServer("github") as server:
        repo = make_repository(tmp_path, server)
        other = "an0ther-token-of-the-test-987654"
        denied = run("pr", "reviews", "1", cwd=repo.root, env=environment(server, other))
        assert (denied.code, "answered 401" in denied.err, other in denied.err) == (8, True, False)
        repo.git("remote", "set-url", "origin", f"{server.address}/moved/shop")
        moved = run("pr", "reviews", "1", cwd=repo.root, env=environment(server))
        assert (moved.code, "answered 302" in moved.err) == (6, True), moved.err


def test_github_is_asked_through_its_own_program_where_there_is_one(tmp_path: Path) -> None:
    """A program of this name on the path, which sends what it is told to the server."""
    with HostingServer("github") as server:
        repo = make_repository(tmp_path, server)
        repo.git("remote", "set-url", "origin", "git@github.com:ann/shop.git")
        programs = tmp_path / "bin"
        programs.mkdir()
        (programs / "gh").write_text(
            f"#!{sys.executable} -I\n"
            "import sys, urllib.request\n"
            "assert sys.argv[1:4] == ['api', '--hostname', 'github.com'], sys.argv\n"
            "body = sys.stdin.buffer.read() if '--input' in sys.argv else None\n"
            f"asked = urllib.request.Request('{server.address}/' + sys.argv[6], body, "
            f"{{'Authorization': 'token {TOKEN}'}}, method=sys.argv[5])\n"
            "sys.stdout.buffer.write(urllib.request.urlopen(asked).read())\n"
        )
        (programs / "gh").chmod(0o755)
        env = {"PATH": f"{programs}:{os.environ['PATH']}"}
        opened = run("pr", "open", "--base", "main", "--yes", cwd=repo.root, env=env)
        assert (opened.code, opened.out) == (0, "https://page/1\n"), opened.err
        assert server.service.pulls[0]["title"] == "Add the order"
