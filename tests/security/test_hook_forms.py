"""Every form in which a hook is written: it runs as it means, or what it guards is denied; its input is never run."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from agent.children.children import Children
from agent.events import Signal
from agent.extension.hooks.hook_catalog import find_hooks_to_trust, load_hooks
from agent.extension.hooks.hook_definition import HookDefinition
from agent.model.model_settings import ModelSettings
from agent.turn.runtime import Runtime
from sandbox.policy.stdin_programs import find_stdin_interpreter
from tests.agent.extension.hooks.test_hooks import (
    observations,
    run_session,
    shop,
    trust,
    write_project,
    write_user,
)
from tests.support.child_sessions import play, settings_for
from tests.support.cli import call, script

__all__ = ["shop"]  # the fixture

GUARD = '#!/bin/bash\ngrep -q forbidden && { echo "no: $1" >&2; exit 2; }\nexit 0\n'
ATTACK = "echo hi\ntouch stolen\n"  # on the input of a shell it would be run


def write_guard(shop: Path) -> None:
    (shop / "guard.sh").write_text(GUARD)
    (shop / "guard.sh").chmod(0o755)


def act(shop: Path, command: str) -> list[str]:
    turns = [{"calls": [call("shell", command=command)]}, {"text": "Done."}]
    return observations(run_session(shop, turns))


def act_in_vain(shop: Path) -> None:
    """Play a turn whose action or prompt is denied."""
    events = run_session(shop, [{"calls": [call("shell", command=ATTACK)]}, {"text": "Done."}])
    denials = observations(events) or [each.detail for each in events if isinstance(each, Signal)]
    assert any("hook" in each for each in denials)
    assert not (shop / "stolen").exists()


EXEC_FORMS: list[dict[str, Any]] = [
    {"command": "bash", "args": ["guard.sh", "a b"]},
    {"command": "./guard.sh", "args": ["a b"]},
    {"command": "/usr/bin/env", "args": ["bash", "${CLAUDE_PROJECT_DIR}/guard.sh", "a b"]},
    {"command": "bash", "args": ["-c", 'exec ./guard.sh "$0"', "a b"]},
    {"command": "${CLAUDE_PROJECT_DIR}/guard.sh", "args": ["a b"], "statusMessage": "Looking"},
]


@pytest.mark.parametrize("whose", ["user", "project"])
@pytest.mark.parametrize("form", EXEC_FORMS, ids=lambda form: form["command"])
def test_a_program_with_arguments_is_started_as_such(shop: Path, form: dict[str, Any], whose: str) -> None:
    write_guard(shop)
    hooks = [{"matcher": "Bash", "hooks": [{"type": "command", **form}]}]
    if whose == "user":
        write_user(PreToolUse=hooks)
    else:
        write_project(shop, PreToolUse=hooks)
        trust(shop)
    [denied] = act(shop, f"echo forbidden; {ATTACK}")
    assert "a hook: no: a b" in denied
    assert not (shop / "stolen").exists()
    assert "hello" in act(shop, "echo hello")[0]


def test_no_shell_reads_the_arguments_of_a_program(shop: Path) -> None:
    write_guard(shop)
    args = ["$(touch stolen)", "; touch stolen", "`touch stolen`", "&& touch stolen"]
    write_user(PreToolUse=[{"hooks": [{"type": "command", "command": "./guard.sh", "args": args}]}])
    assert "no: $(touch stolen)" in act(shop, "echo forbidden")[0]
    assert not (shop / "stolen").exists()


BARE: list[dict[str, Any]] = [
    {"command": "bash"},
    {"command": "bash", "args": []},
    {"command": "sh -s a"},
    {"command": "/usr/bin/env", "args": ["bash"]},
    {"command": "python3 -"},
    {"command": "cat | bash"},
    {"command": "bash", "args": ["/dev/stdin"]},
    {"command": "if true; then sh; fi"},
    {"command": "bash -c bash"},
    {"command": "bash", "args": ["-c", "sh"]},
    {"command": 'eval "$(cat)"'},
    {"command": "bash <(cat)"},
    {"command": "BASH_ENV=/dev/stdin bash -c true"},
    {"command": "bash", "args": ["--rcfile", "/dev/stdin", "-i", "-c", "true"]},
    {"command": "$SHELL"},
    {"command": "$(which bash)"},
    {"command": "unshare -r"},
    {"command": "bash", "args": ["/dev//stdin"]},
    {"command": 'bash "$@"'},
]


@pytest.mark.parametrize("form", BARE, ids=str)
def test_an_interpreter_without_a_program_is_given_no_input(shop: Path, form: dict[str, Any]) -> None:
    write_user(PreToolUse=[{"matcher": "Bash", "hooks": [{"type": "command", **form}]}])
    [denied] = act(shop, ATTACK)
    assert "cannot run as it is written" in denied
    assert "is given no program" in denied, form
    assert not (shop / "stolen").exists()


ABSENT: list[dict[str, Any]] = [
    {"command": "./gone.sh"},
    {"command": "./gone.sh", "args": []},
    {"command": "no-such-guard --check"},
    {"command": "./plain.txt", "args": ["a"]},
]


@pytest.mark.parametrize("whose", ["user", "project"])
@pytest.mark.parametrize("form", ABSENT, ids=str)
def test_a_guard_that_cannot_be_started_denies(shop: Path, form: dict[str, Any], whose: str) -> None:
    (shop / "plain.txt").write_text("no program\n")
    hooks = [{"matcher": "Bash", "hooks": [form]}]
    if whose == "user":
        write_user(PreToolUse=hooks)
    else:
        write_project(shop, PreToolUse=hooks)
        trust(shop)
    [denied] = act(shop, ATTACK)
    assert "its program cannot be started" in denied
    assert not (shop / "stolen").exists()


def test_an_event_after_actions_may_lack_its_program(shop: Path) -> None:
    write_user(PostToolUse=[{"matcher": "Bash", "hooks": [{"command": "./gone.sh"}]}])
    assert "hi" in act(shop, "echo hi")[0]


@pytest.mark.parametrize(
    "event",
    [
        *(
            "preToolUse",
            "pre_tool_use",
            "PretoolUse",
            "BeforeTool",
            "beforeShellExecution",
            "pre_run_command",
        ),
        *("tool.execute.before", "tool:pre-execute", "permission.ask", "beforeSubmitPrompt"),
    ],
)
def test_a_guard_of_another_spelling_or_tool_denies_what_it_may_guard(shop: Path, event: str) -> None:
    write_guard(shop)
    write_user(**{event: [{"matcher": "Bash", "hooks": [{"command": "./guard.sh"}]}]})
    [notice] = load_hooks(Home.from_environment(), shop).notices
    assert f"there is no event {event!r} here" in notice
    assert "what it guards is denied" in notice
    act_in_vain(shop)


@pytest.mark.parametrize("event", ["preCompact", "PermissionDenied", "userPromptSubmitted", "afterFileEdit"])
def test_an_event_of_another_tool_that_forbids_nothing_denies_nothing(shop: Path, event: str) -> None:
    write_user(**{event: [{"hooks": [{"command": "true"}]}]})
    assert "hello" in act(shop, "echo hello")[0]


BROKEN: list[tuple[str, object]] = [
    ("an unknown field", [{"matcher": "Bash", "hooks": [{"command": "./guard.sh", "argv": ["x"]}]}]),
    ("an unknown field of the group", [{"matcher": "Bash", "env": {}, "hooks": [{"command": "./guard.sh"}]}]),
    ("an unknown type", [{"matcher": "Bash", "hooks": [{"type": "wasm", "module": "m"}]}]),
    ("an agent without a prompt", [{"matcher": "Bash", "hooks": [{"type": "agent"}]}]),
    ("a tool of no server", [{"matcher": "Bash", "hooks": [{"type": "mcp_tool", "tool": "t"}]}]),
    ("a command that is a list", [{"matcher": "Bash", "hooks": [{"command": ["bash", "guard.sh"]}]}]),
    ("arguments that are a text", [{"matcher": "Bash", "hooks": [{"command": "bash", "args": "guard.sh"}]}]),
    ("arguments that are numbers", [{"matcher": "Bash", "hooks": [{"command": "bash", "args": [1]}]}]),
    ("another shell", [{"hooks": [{"command": "./guard.sh", "shell": "powershell"}]}]),
    ("no list of hooks", [{"matcher": "Bash", "command": "./guard.sh"}]),
    ("a list of commands", ["./guard.sh"]),
    ("one group in no list", {"matcher": "Bash", "hooks": [{"command": "./guard.sh"}]}),
    ("a matcher that is no expression", [{"matcher": "(", "hooks": [{"command": "./guard.sh"}]}]),
    ("a matcher that is a list", [{"matcher": ["Bash"], "hooks": [{"command": "./guard.sh"}]}]),
    ("a condition of two tools", [{"hooks": [{"command": "./guard.sh", "if": "Bash(a) or Edit(b)"}]}]),
    ("a timeout in words", [{"hooks": [{"command": "./guard.sh", "timeout": "5s"}]}]),
    ("a timeout that is true", [{"hooks": [{"command": "./guard.sh", "timeout": True}]}]),
    ("a timeout that is no number", [{"hooks": [{"command": "./guard.sh", "timeout": float("nan")}]}]),
    ("a NUL in its arguments", [{"hooks": [{"command": "./guard.sh", "args": ["a\0b"]}]}]),
    ("a NUL in its line", [{"hooks": [{"command": "./guard.sh\0"}]}]),
    (
        "a matcher with words of a command",
        [{"matcher": "Bash(touch ran)", "hooks": [{"command": "./guard.sh"}]}],
    ),
    ("a matcher with another separator", [{"matcher": "Edit;Bash", "hooks": [{"command": "./guard.sh"}]}]),
    ("a matcher with blanks", [{"matcher": "Edit Bash", "hooks": [{"command": "./guard.sh"}]}]),
    ("an address of a file", [{"hooks": [{"type": "http", "url": "file:///etc/passwd"}]}]),
    ("an address without a host", [{"hooks": [{"type": "http", "url": "http://"}]}]),
    (
        "a header of two lines",
        [{"hooks": [{"type": "http", "url": "http://a/", "headers": {"A": "b\nC: d"}}]}],
    ),
    ("a failure that is unknown", [{"hooks": [{"command": "./guard.sh", "onFailure": "maybe"}]}]),
]


@pytest.mark.parametrize(("what", "groups"), BROKEN, ids=[what for what, _ in BROKEN])
def test_what_a_hook_guards_is_denied_where_it_cannot_run(shop: Path, what: str, groups: object) -> None:
    write_guard(shop)
    write_user(PreToolUse=groups)
    turns = [{"calls": [call("shell", command="touch ran")]}, {"text": "Done."}]
    events = run_session(shop, turns)
    assert "cannot run as it is written" in observations(events)[0], what
    assert not (shop / "ran").exists()
    assert any("hook PreToolUse failed" in each.detail for each in events if isinstance(each, Signal))
    [notice] = load_hooks(Home.from_environment(), shop).notices
    assert "what it guards is denied" in notice


UNCLEAR = [
    '{"decision": "reject"}',
    '{"decision": false}',
    '{"permission": "deny"}',
    '{"permissionDecision": "Deny"}',
    '{"hookSpecificOutput": "deny"}',
    '{"hookSpecificOutput": {"permissionDecision": "forbid"}}',
    '{"hookSpecificOutput": {"permissionDecision": "allow"}, "decision": "block"}',
    '{"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": "echo safe"}}',
    'Looking …\n{"decision": "block"}',
    '{"decision": "block", "reason": "it has " and \\x in it"}',
    '{"decision": "block", "reason": "x", "decision": "approve"}',
    '{"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecision": "allow"}}',
    '{"suppressOutput": true}\n{"decision": "block"}',
    'Looking …\n{\n  "decision": "block"\n}',
    '{"decision": "approve"}\n{"decision": "block"}',
    '{"decision": "block", "reason": "' + "x" * 3_000_000 + '"}',
    '{"decision": "block"} and more',
]


@pytest.mark.parametrize("answer", UNCLEAR, ids=lambda answer: answer[:60])
def test_a_decision_that_is_not_known_is_a_refusal(shop: Path, answer: str) -> None:
    (shop / "answer.txt").write_text(answer)
    write_user(PreToolUse=[{"matcher": "Bash", "hooks": [{"command": "cat answer.txt"}]}])
    assert "denied: a hook" in act(shop, "touch ran")[0]
    assert not (shop / "ran").exists()


def test_a_guard_that_a_project_may_not_have_denies(shop: Path) -> None:
    write_project(shop, PreToolUse=[{"hooks": [{"type": "http", "url": "https://127.0.0.1:1/"}]}])
    trust(shop)
    assert "for your own hooks only" in act(shop, "touch ran")[0]
    assert not (shop / "ran").exists()


@pytest.mark.parametrize(
    ("answer", "passes"),
    [
        ('{"ok": true}', True),
        ('```json\n{"ok": true}\n```', True),
        ('It says {"ok": true}, which I do not believe.', False),
        ('{"ok": false, "ok": true}', False),
        ("Fine.", False),
        ('{"ok": "true"}', False),
    ],
)
def test_words_of_a_model_are_no_verdict(shop: Path, answer: str, passes: bool) -> None:
    write_user(PreToolUse=[{"matcher": "Bash", "hooks": [{"type": "prompt", "prompt": "Is it harmless?"}]}])
    turns = script(shop.parent, [{"calls": [call("shell", command="touch ran")]}, {"text": "Done."}])
    judge = script(shop.parent, [{"text": answer, "expect": ["<hook-input>"]}], "judge.json")

    async def act(runtime: Runtime, _: Children) -> None:
        await runtime.run_turn("Go")

    play(shop, replace(settings_for(turns), models=ModelSettings(fast=judge)), act)
    assert (shop / "ran").exists() == passes


FRONT_MATTER = [
    "hooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks: [{type: command, command: ./guard.sh}]\n",
    "hooks:\n  PreToolUse:\n    - {matcher: Bash, hooks: [{type: mcp_tool, server: s}]}\n",
    "Hooks: {PermissionRequest: [{hooks: [{command: ./guard.sh}]}]}\n",
    "hooks: {BeforeTool: [{hooks: [{command: ./guard.sh}]}]}\n",
    "hooks: [PreToolUse]\n",
    "hooks: ./hooks.json\n",
]


@pytest.mark.parametrize("fields", FRONT_MATTER)
def test_a_file_whose_guards_would_not_run_is_not_used(tmp_path: Path, fields: str) -> None:
    from agent.extension.commands.command_file import BadCommandFile, parse_command_file
    from agent.extension.skills.skill_file import BadSkill, parse_skill
    from agent.team.definitions.agent_file import BadAgentFile, parse_agent_file

    text = f"---\nname: a\ndescription: It helps\n{fields}---\nDo it.\n"
    with pytest.raises(BadAgentFile, match="would not run"):
        parse_agent_file(text, "a.md", "a", ())
    with pytest.raises(BadSkill, match="would not run"):
        parse_skill(text, "a", tmp_path)
    with pytest.raises(BadCommandFile, match="would not run"):
        parse_command_file(text, "a.md", "a", is_project=True)
    harmless = text.replace(fields, "hooks: {PostToolUse: [{hooks: [{command: ./format.sh}]}]}\n")
    assert parse_agent_file(harmless, "a.md", "a", ()).name == "a"
    assert parse_skill(harmless, "a", tmp_path).name == "a"


def test_what_no_hook_guards_goes_on(shop: Path) -> None:
    unknown = [{"matcher": "Write", "hooks": [{"command": "true", "argv": []}]}]
    write_user(PreToolUse=unknown, PostToolUse=[{"hooks": [{"command": "true", "argv": []}]}])
    assert "hello" in act(shop, "echo hello")[0]


@pytest.mark.parametrize(
    "content",
    [
        '{"hooks": {"PreToolUse": [}',
        '["PreToolUse"]',
        '{"hooks": [{"event": "PreToolUse", "command": "./guard.sh"}]}',
        '{"PreToolUse": [{"hooks": [{"command": "./guard.sh"}]}]}',
        '{"Hooks": {"PreToolUse": [{"hooks": [{"command": "./guard.sh"}]}]}}',
        '{"hooks": {"PreToolUse": [{"hooks": [{"command": "./guard.sh"}]}], "PreToolUse": []}}',
        '{"hooks": {"PreToolUse": [{"hooks": [{"command": "./guard.sh", "command": "true"}]}]}}',
    ],
)
def test_a_file_that_cannot_be_read_guards_everything(shop: Path, content: str) -> None:
    write_user()
    (Home.from_environment().config / "agent-hooks.json").write_text(content)
    assert "cannot run as it is written" in act(shop, "touch ran")[0]
    assert not (shop / "ran").exists()


def test_a_changed_argument_has_to_be_trusted_again(shop: Path) -> None:
    write_guard(shop)
    hook = {"type": "command", "command": "bash", "args": ["guard.sh"]}
    write_project(shop, PreToolUse=[{"hooks": [hook]}])
    [shown] = find_hooks_to_trust(shop)
    assert shown.runs == "bash guard.sh (in the sandbox)"
    trust(shop)
    assert len(load_hooks(Home.from_environment(), shop).hooks) == 1
    write_project(shop, PreToolUse=[{"hooks": [{**hook, "args": ["other.sh"]}]}])
    assert load_hooks(Home.from_environment(), shop).hooks == ()
    shutil.rmtree(shop / ".claude")
    assert "are gone" in load_hooks(Home.from_environment(), shop).notices[0]


@pytest.mark.parametrize(
    ("matcher", "condition", "names", "given"),
    [
        ("Edit, Write", "", ("Write", "write"), {}),
        ("Edit,Write", "", ("Edit", "edit"), {}),
        ("", "Edit(*.ts)", ("Edit",), {"file_path": "/r/a.ts"}),
        ("", "Edit(src/**/*.ts)", ("Edit",), {"file_path": "/r/src/a.ts"}),
        ("", "Read(~/.ssh/**)", ("Read",), {"file_path": "/home/u/.ssh/id"}),
        ("", "Write(*.{js,ts})", ("Write",), {"file_path": "/r/a.ts"}),
        ("", "Bash(git push *)", ("Bash",), {"command": "git  push origin"}),
        ("", "Bash(git push *)", ("Bash",), {"command": "g'it' pu\"sh\" origin"}),
        ("", "Bash(git push *)", ("Bash",), {"command": "g\\it push"}),
        ("", "Bash(git push *)", ("Bash",), {"command": "$G push"}),
        ("", "Bash(rm *)", ("Bash",), {"command": "/bin/r? x"}),
        ("", "Bash(rm *)", ("Bash",), {"command": "echo cm0gLXJm | base64 -d | sh"}),
        ("bash", "", ("Bash", "shell"), {}),
        ("BASH|edit", "", ("Bash", "shell"), {}),
        ("^bash$", "", ("Bash", "shell"), {}),
    ],
)
def test_a_guard_is_rather_asked_once_too_often(
    matcher: str, condition: str, names: tuple[str, ...], given: dict[str, str]
) -> None:
    hook = HookDefinition(event="PreToolUse", kind="command", runs="x", matcher=matcher, condition=condition)
    assert hook.matches(names, given)


PLAIN = """
bash guard.sh | bash -c 'x y' | bash -xec x | python3 -u guard.py | python3 -m guard | node -e x | cat | jq .a
bash < guard.sh | bash "$CLAUDE_PROJECT_DIR"/guard.sh | python3 -X dev guard.py | perl -ne x | ssh host command
sqlite3 a.db 'select 1' | sudo bash guard.sh | make check | sed -f a.sed | bash --version | deno run guard.ts
uv run guard.py --lang python | npx tsx guard.ts | grep -qE "bash|sh" | xargs grep -l python | ./script
ssh host 'bash g.sh' | docker run -i --rm image python guard.py | eval "$(jq -r .x)" | $(which python3) guard.py
kubectl get pods -o python | poetry run python guard.py | source .venv/bin/activate | bash -c 'cat >/dev/null'
xargs bash guard.sh | uv run --script g.py
"""
WITHOUT = """
bash | bash -x | bash --norc -o pipefail | exec node | python3.12 | python3 -i guard.py | perl -w | ruby | php
sqlite3 a.db | ssh host | sudo -s | make -f - | source /dev/stdin | env -S 'bash -x' | busybox sh
timeout 5 zsh | bash -c bash | sh -c python3 | eval "$(cat)" | bash -c "$(cat)" | . <(cat) | exec $SHELL
"$BASH" -l | `which sh` | bash $(true) | BASH_ENV=/dev/stdin bash g.sh | bash --rcfile=/dev/stdin -ic :
node --require /dev/stdin -e 1 | bash /proc/$$/fd/0 | bash <&0 | unshare -r | chroot / | setarch x86_64
script -qc bash /dev/null | fakeroot | newgrp docker | nix-shell --run bash | su root -c bash | uv run -
uv run python | poetry run python | npx -y tsx | conda run -n x python | docker exec -i c sh | ssh host bash -s
chrt 1 sh | xargs sh -c | xargs -I{} sh -c {} | parallel | at now | batch | crontab - | python3 -m code
python3 -m pdb x.py | ipython | m4 | vim -es | raku - | ocaml | osh | xonsh | deno repl | bash "$@"
exec 3<&0; bash <&3 | bash ${GUARD:-} | mise exec -- bash | bash < /dev/stdin | deno run - | pwsh -NoProfile
pwsh -Command - | bash -c x; fish | bash $NOTHING | (dash)
"""


def test_interpreters_without_a_program_are_known() -> None:
    for line in WITHOUT.replace("\n", " | ").split(" | "):
        assert not line.strip() or find_stdin_interpreter(line.strip()), line
    for line in PLAIN.replace("\n", " | ").split(" | "):
        assert not find_stdin_interpreter(line.strip()), line
    assert not find_stdin_interpreter("python3 - <<'E'\nprint(1)\nE")


def test_a_header_gets_the_listed_variables_only(monkeypatch: pytest.MonkeyPatch, shop: Path) -> None:
    from agent.extension.hooks.hook_runner import _build_headers

    monkeypatch.setenv("TOKEN", "t")
    monkeypatch.setenv("KEY", "k")
    headers = {"Authorization": "Bearer $TOKEN", "X-Key": "${KEY}."}
    entry = {"type": "http", "url": "http://127.0.0.1/", "headers": headers, "allowedEnvVars": ["TOKEN"]}
    write_user(PreToolUse=[{"hooks": [entry]}])
    [hook] = load_hooks(Home.from_environment(), shop).hooks
    built = _build_headers(hook)
    assert (built["Authorization"], built["X-Key"]) == ("Bearer t", ".")
    assert json.dumps(built).count("k}") == 0


@pytest.mark.parametrize("secret", ["export LEAK=seen\n", "LEAK=seen\n"])
def test_variables_of_a_project_s_hook_come_from_no_other_file(
    shop: Path, tmp_path: Path, secret: str
) -> None:
    """It may replace its file by a link: to what it cannot read, or to what our next start would empty."""
    other = tmp_path / "other.env"
    other.write_text(secret)
    write_project(shop, SessionStart=[{"hooks": [{"command": f'ln -sf {other} "$CLAUDE_ENV_FILE"'}]}])
    trust(shop)
    for _ in range(2):
        assert "<>" in act(shop, 'echo "<$LEAK>"')[0]
        assert other.read_text() == secret


def test_a_hook_of_the_user_writes_its_variables_through_no_link_of_a_project(
    shop: Path, tmp_path: Path
) -> None:
    other = tmp_path / "profile"
    other.write_text("mine\n")
    write_project(shop, SessionStart=[{"hooks": [{"command": f'ln -sf {other} "$CLAUDE_ENV_FILE"'}]}])
    trust(shop)
    write_user(SessionStart=[{"hooks": [{"command": 'sleep 1; echo STAGE=test >> "$CLAUDE_ENV_FILE"'}]}])
    assert "<test>" in act(shop, 'echo "<$STAGE>"')[0]
    assert other.read_text() == "mine\n"
