"""Agent hooks: how their files are read, and what they may do in a session."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from agent.app_dirs import Home
from agent.children.children import Children
from agent.children.spec import ChildSpec
from agent.events import DecisionEvent, End, Event, ObservationEvent, Signal
from agent.extension.extension_files import HOOKS_TRUST
from agent.extension.hooks.hook_answer import HookAnswer, combine_answers, parse_answer
from agent.extension.hooks.hook_catalog import find_hooks_to_trust, load_hooks
from agent.extension.hooks.hook_definition import HookDefinition, matches_name
from agent.extension.hooks.hook_input import restore_arguments, translate_arguments
from agent.extension.hooks.hook_parser import parse_hooks
from agent.model.model_settings import ModelSettings
from agent.session.log import read_events
from agent.session.undo import Timeline, undo_last_turn
from agent.session_settings import StrategySettings
from agent.strategy.strategy_table import choose_work
from agent.turn.runtime import Runtime
from sandbox.policy.decision import Approval
from sandbox.policy.rules import Rule, Rules
from sandbox.policy.trust import TrustStore
from sandbox.snapshots.workspace_snapshots import Snapshots
from tests.support.child_sessions import play, settings_for
from tests.support.cli import call, git, script


def make_hook(event: str = "PreToolUse", **fields: Any) -> HookDefinition:
    return HookDefinition(**{"event": event, "kind": "command", "runs": "true", **fields})


def group(*commands: str, matcher: str = "", **fields: Any) -> list[dict[str, Any]]:
    return [
        {"matcher": matcher, "hooks": [{"type": "command", "command": each, **fields} for each in commands]}
    ]


def write_user(**events: Any) -> None:
    config = Home.from_environment().config
    config.mkdir(parents=True, exist_ok=True)
    (config / "agent-hooks.json").write_text(json.dumps({"hooks": events}))


def write_project(shop: Path, **events: Any) -> None:
    (shop / ".claude").mkdir(exist_ok=True)
    (shop / ".claude/settings.json").write_text(
        json.dumps({"hooks": events, "permissions": {"allow": ["Bash"]}})
    )


def trust(root: Path) -> None:
    TrustStore(Home.from_environment().config).grant(root / HOOKS_TRUST, find_hooks_to_trust(root))


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "cart.py").write_text("RATE = 2\n")
    (folder / "order.py").write_text("STATUS = 1\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Start")
    return folder


def run_session(shop: Path, turns: Sequence[Mapping[str, Any]], **access: Any) -> list[Event]:
    """Play a turn of a scripted model, which checks what it is sent; return the session's events."""

    async def story(runtime: Runtime, children: Children) -> Path:
        end = await runtime.run_turn("Go")
        print(end.summary)
        return runtime.session.folder

    folder: Path = play(
        shop, settings_for(script(shop.parent, turns), **{"sandbox": "auto", **access}), story
    )
    return list(read_events(folder))


def observations(events: Sequence[Event]) -> list[str]:
    return [
        each.text
        for each in events
        if isinstance(each, ObservationEvent) and not each.call.startswith("harness")
    ]


@pytest.mark.parametrize(
    ("matcher", "names", "fits"),
    [
        ("", ("Bash", "shell"), True),
        ("*", ("Bash",), True),
        ("Bash", ("Bash", "shell"), True),
        ("shell", ("Bash", "shell"), True),
        ("Edit|Write", ("Write", "write"), True),
        ("Edit", ("NotebookEdit",), False),
        ("Notebook.*", ("NotebookEdit",), True),
        ("mcp__.*__write.*", ("mcp__db__write_row",), True),
        ("bash", ("Bash", "shell"), True),
    ],
)
def test_a_matcher_fits_names(matcher: str, names: tuple[str, ...], fits: bool) -> None:
    assert matches_name(matcher, names) is fits


def test_a_condition_is_met_by_words_of_the_command() -> None:
    hook = make_hook(condition="Bash(git push:*)")
    assert hook.matches(("Bash", "shell"), {"command": "true && git push origin"})
    assert not hook.matches(("Bash", "shell"), {"command": "git status"})
    assert not hook.matches(("Read", "read"), {"file_path": "git push"})


@pytest.mark.parametrize(
    ("event", "code", "out", "err", "answer"),
    [
        ("PreToolUse", 2, "", "no\n", HookAnswer(verdict="deny", reason="no")),
        ("PreToolUse", 1, "", "more\nbroken", HookAnswer(problem="exit 1: broken")),
        ("PreToolUse", 0, "looks fine", "", HookAnswer()),
        ("SessionStart", 0, "Use tabs.", "", HookAnswer(context="Use tabs.")),
        ("PostToolUse", 0, "{broken", "", HookAnswer(problem="its output is no JSON")),
        (
            "PostToolUse",
            0,
            '{"decision": "block", "reason": "r"}',
            "",
            HookAnswer(verdict="deny", reason="r"),
        ),
        (
            "PreToolUse",
            0,
            '{"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "r",'
            ' "updatedInput": {"a": 1}, "additionalContext": "c"}, "systemMessage": "m"}',
            "",
            HookAnswer(verdict="ask", reason="r", arguments={"a": 1}, context="c", message="m"),
        ),
        (
            "PermissionRequest",
            0,
            '{"hookSpecificOutput": {"decision": {"behavior": "deny", "message": "r"}}}',
            "",
            HookAnswer(verdict="deny", reason="r"),
        ),
        ("Stop", 0, '{"continue": false, "stopReason": "enough"}', "", HookAnswer(stop="enough")),
    ],
)
def test_an_answer_is_read(event: str, code: int, out: str, err: str, answer: HookAnswer) -> None:
    assert parse_answer(make_hook(event), code, out, err) == answer


def test_a_project_s_hook_never_allows_and_a_strict_one_refuses_when_it_fails() -> None:
    out = '{"hookSpecificOutput": {"permissionDecision": "allow"}}'
    assert parse_answer(make_hook(), 0, out, "").verdict == "allow"
    assert parse_answer(make_hook(is_project=True), 0, out, "").verdict == ""
    assert parse_answer(make_hook(is_project=True), 0, '{"decision": "approve"}', "").verdict == ""
    assert parse_answer(make_hook(is_strict=True), 1, "", "").verdict == "deny"
    both = combine_answers([HookAnswer(verdict="allow"), HookAnswer(verdict="deny", reason="r")])
    assert (both.verdict, both.reason) == ("deny", "r")


def test_what_cannot_be_used_is_told() -> None:
    notices: list[str] = []
    table = {
        "hooks": {
            "Setup": group("true"),
            "Stop": [{"hooks": [{"type": "wasm", "prompt": "x"}, {"type": "command"}, "x"]}, "x"],
            "PreToolUse": [*group("true", matcher="("), *group("ok", matcher="Bash", timeout=5)],
        }
    }
    *refused, hook = parse_hooks(table, "f.json", notices, is_project=False)
    assert (hook.runs, hook.timeout, hook.refusal) == ("ok", 5.0, "")
    assert all(each.refusal for each in refused)
    assert [each.partition(": ")[2][:32] for each in notices] == [
        "hooks of 'Setup' are not used: t",
        "a hook of Stop is not used: its ",
        "a hook of Stop is not used: it h",
        "a hook of Stop is not used: 'x' ",
        "a hook of Stop is not used: 'x' ",
        "a hook of PreToolUse is not used",
    ]
    assert list(parse_hooks({**table, "disableAllHooks": True}, "f", [], is_project=False)) == []


def test_tools_and_inputs_go_by_the_names_of_other_agents(tmp_path: Path) -> None:
    given = {"path": "a.py", "old": "x", "new": "y"}
    told = translate_arguments("edit", given, tmp_path, ("a.py",))
    assert told == {"file_path": str(tmp_path / "a.py"), "old_string": "x", "new_string": "y"}
    back = restore_arguments("edit", given, {**told, "new_string": "z"}, tmp_path)
    assert back == {"path": "a.py", "old": "x", "new": "z"}
    assert translate_arguments("shell", {"command": "ls"}, tmp_path, ()) == {"command": "ls"}
    assert translate_arguments("search", {"pattern": "x", "glob": "*"}, tmp_path, ()) == {
        "pattern": "x",
        "glob": "*",
    }
    patch = translate_arguments("apply_patch", {"patch": "p"}, tmp_path, ("b.py",))
    assert patch == {"patch": "p", "file_path": str(tmp_path / "b.py")}
    assert restore_arguments("apply_patch", {"patch": "p"}, patch, tmp_path) == {"patch": "p"}


def test_hooks_of_an_untrusted_project_do_not_run(shop: Path) -> None:
    write_project(shop, PreToolUse=group("touch hacked"), SessionStart=group("touch hacked"))
    found = load_hooks(Home.from_environment(), shop)
    assert found.hooks == ()
    assert found.notices[0].startswith("2 agent hooks of this project not used")
    events = run_session(shop, [{"calls": [call("read", path="cart.py")]}, {"text": "Done."}])
    assert not (shop / "hacked").exists()
    assert "RATE = 2" in observations(events)[0]
    shown = find_hooks_to_trust(shop)
    assert [(each.kind, each.name) for each in shown] == [
        ("agent hook", ".claude/settings.json PreToolUse"),
        ("agent hook", ".claude/settings.json SessionStart"),
    ]
    assert shown[0].runs == "touch hacked (in the sandbox)"
    trust(shop)
    assert len(load_hooks(Home.from_environment(), shop).hooks) == 2
    write_project(shop, PreToolUse=group("touch ~/hacked"))
    assert load_hooks(Home.from_environment(), shop).hooks == ()


BLOCK_RM = r"""python3 -c '
import json, sys
given = json.load(sys.stdin)
assert given["tool_name"] == "Bash" and given["hook_event_name"] == "PreToolUse", given
assert given["permission_mode"] == "dontAsk" and given["session_id"] and given["transcript_path"]
if "rm " in given["tool_input"]["command"]:
    print("no removal here", file=sys.stderr)
    sys.exit(2)
'"""

CHANGE_READ = r"""python3 -c '
import json, sys
given = json.load(sys.stdin)["tool_input"]
given["file_path"] = given["file_path"].replace("cart", "order")
print(json.dumps({"hookSpecificOutput": {"updatedInput": given, "additionalContext": "STATUS matters"}}))
'"""

FORMAT = 'sed -i s/RATE/TAX/ "$CLAUDE_PROJECT_DIR/cart.py"; echo formatted >&2; exit 2'


def test_a_trusted_project_s_hooks_forbid_change_and_comment(shop: Path) -> None:
    write_project(
        shop,
        SessionStart=group("echo Use tabs.; touch ~/no; true"),
        UserPromptSubmit=group("echo Asked at noon."),
        PreToolUse=[*group(BLOCK_RM, matcher="Bash"), *group(CHANGE_READ, matcher="Read")],
        PostToolUse=group(FORMAT, matcher="Write|Edit"),
        PostToolUseFailure=group('echo \'{"hookSpecificOutput": {"additionalContext": "Try again."}}\''),
        Stop=group("grep -q '\"stop_hook_active\": true' || { echo Not yet. >&2; exit 2; }"),
    )
    trust(shop)
    events = run_session(
        shop,
        [
            {"calls": [call("shell", command="rm cart.py")], "expect": ["Use tabs.", "Asked at noon."]},
            {"calls": [call("read", path="cart.py")], "expect": ["denied: a hook: no removal here"]},
            {
                "calls": [call("edit", path="cart.py", old="2", new="3")],
                "expect": ["STATUS = 1", "STATUS matters"],
            },
            {"calls": [call("read", path="no.py")], "expect": ["formatted"]},
            {"text": "Done.", "expect": ["Try again."]},
            {"text": "Done now.", "expect": ["Not yet."]},
        ],
    )
    assert (shop / "cart.py").read_text() == "TAX = 3\n"
    assert not (Path.home() / "no").exists()
    [end] = [each for each in events if isinstance(each, End)]
    assert end.summary.startswith("Done now."), end.summary
    assert "note: a hook changed the call to {'path': 'order.py'}" in observations(events)[1]


def test_what_a_hook_changes_belongs_to_the_action(shop: Path) -> None:
    write_project(
        shop, PostToolUse=group("sed -i s/RATE/TAX/ cart.py; echo new > report.txt", matcher="Edit")
    )
    trust(shop)
    turns = [{"calls": [call("edit", path="cart.py", old="2", new="3")]}, {"text": "Done."}]

    async def story(runtime: Runtime, children: Children) -> None:
        await runtime.run_turn("Go")
        assert all(path in runtime.workspace.changes for path in ("cart.py", "report.txt"))
        snapshots = runtime.snapshots
        assert isinstance(snapshots, Snapshots)
        undo_last_turn(snapshots, Timeline.from_events(read_events(runtime.session.folder)))
        assert (shop / "cart.py").read_text() == "RATE = 2\n"
        assert not (shop / "report.txt").exists()

    play(shop, settings_for(script(shop.parent, turns), sandbox="auto"), story)


def test_a_hook_s_input_is_judged_again_and_an_allow_beats_no_denial(shop: Path) -> None:
    allow = 'echo \'{"hookSpecificOutput": {"permissionDecision": "allow"%s}}\''
    update = ', "updatedInput": {"command": "touch /etc/no; cat secret.txt"}'
    write_user(PreToolUse=[*group(allow % "", matcher="Read"), *group(allow % update, matcher="Bash")])
    rules = Rules((Rule(kind="read", pattern="secret.txt", verdict="deny"),))
    (shop / "secret.txt").write_text("secret\n")
    events = run_session(
        shop,
        [
            {"calls": [call("read", path="secret.txt")]},
            {"calls": [call("shell", command="echo hi")]},
            {"text": "Done."},
        ],
        rules=rules,
    )
    first, second = observations(events)
    assert "denied" in first
    assert "secret\n" not in second
    assert not Path("/etc/no").exists()


@pytest.mark.parametrize(("whose", "ran"), [("user", True), ("project", False)])
def test_only_a_hook_of_the_user_s_answers_a_question(shop: Path, whose: str, ran: bool) -> None:
    allow = group('echo \'{"hookSpecificOutput": {"permissionDecision": "allow"}}\'', matcher="Bash")
    request = group('echo \'{"hookSpecificOutput": {"decision": {"behavior": "allow"}}}\'')
    if whose == "user":
        write_user(PreToolUse=allow)
    else:
        write_project(shop, PreToolUse=allow, PermissionRequest=request)
        trust(shop)
    rules = Rules((Rule(kind="shell", pattern="echo *", verdict="ask"),))
    events = run_session(
        shop,
        [{"calls": [call("shell", command="echo it; touch ran")]}, {"text": "Done."}],
        rules=rules,
        approval=Approval.AUTO,
    )
    assert (shop / "ran").exists() is ran, observations(events)
    decided = [each.verdict for each in events if isinstance(each, DecisionEvent)]
    assert decided == (["allow"] if ran else ["deny"])


def test_a_prompt_is_stopped_and_failures_are_told(shop: Path) -> None:
    write_user(
        UserPromptSubmit=group("echo Not today. >&2; exit 2"),
        SessionStart=group("exit 7"),
        SessionEnd=group("cat > end.json"),
    )
    events = run_session(shop, [{"text": "never"}])
    [end] = [each for each in events if isinstance(each, End)]
    assert (end.outcome, end.summary) == ("interrupted", "a hook does not let this prompt pass: Not today.")
    assert [each.detail for each in events if isinstance(each, Signal)] == [
        "hook SessionStart failed: exit 7"
    ]
    assert json.loads((shop / "end.json").read_text())["hook_event_name"] == "SessionEnd"


def test_a_prompt_is_stopped_whatever_strategy_works_on_it(shop: Path) -> None:
    write_user(UserPromptSubmit=group("echo Not today. >&2; exit 2"))

    async def story(runtime: Runtime, children: Children) -> None:
        work = choose_work(runtime, StrategySettings(name="sample", attempts=2), "Go")
        assert work is not None
        end = await runtime.run_turn("Go", work)
        assert end.summary == "a hook does not let this prompt pass: Not today."
        assert runtime.session.replayed.find_newest_place("attempt") == 0

    play(shop, settings_for(script(shop.parent, [{"text": "never"}])), story)


def test_a_hook_ends_the_turn_and_one_that_takes_too_long_is_ended(shop: Path) -> None:
    write_user(
        PreToolUse=[
            *group("sleep 30", matcher="Read", timeout=0.3),
            *group('echo \'{"continue": false, "stopReason": "enough"}\'', matcher="Bash"),
        ]
    )
    turns = [
        {"calls": [call("read", path="cart.py")]},
        {"calls": [call("shell", command="touch ran")], "expect": ["RATE = 2"]},
        {"text": "never"},
    ]
    events = run_session(shop, turns)
    [end] = [each for each in events if isinstance(each, End)]
    assert (end.outcome, end.summary) == ("interrupted", "enough")
    assert not (shop / "ran").exists()
    assert "it took more than 0.3 s" in "".join(each.detail for each in events if isinstance(each, Signal))


class Judge(BaseHTTPRequestHandler):
    """Denies whatever is posted to it, and remembers it."""

    seen: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        self.seen.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        answer = {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "by post"}}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_: Any) -> None: ...


def test_an_address_is_asked_for_the_user_s_hooks_only(shop: Path) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Judge)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/hook"
    hooks = [{"matcher": "Read", "hooks": [{"type": "http", "url": url}]}]
    turns = [{"calls": [call("read", path="cart.py")]}, {"text": "Done."}]
    try:
        write_user(PreToolUse=hooks)
        assert "by post" in observations(run_session(shop, turns))[0]
        (Home.from_environment().config / "agent-hooks.json").unlink()
        write_project(shop, PreToolUse=hooks)
        trust(shop)
        assert "for your own hooks only" in observations(run_session(shop, turns))[0]
    finally:
        server.shutdown()
        server.server_close()
    assert [each["tool_name"] for each in Judge.seen] == ["Read"]


def test_children_compactions_and_changed_files_are_told(shop: Path) -> None:
    names = ("SubagentStart", "SubagentStop", "WorktreeCreate", "WorktreeRemove", "PreCompact", "PostCompact")
    write_user(
        FileChanged=group("cat >> events.log", matcher="order.py"),
        PreToolUse=group("echo Not in agents >&2; exit 2", matcher="search"),
        **{name: group("cat >> events.log") for name in names},
    )

    async def story(runtime: Runtime, children: Children) -> None:
        task = ChildSpec(prompt="Look", place="worktree", model=script(shop.parent, child, "child.json"))
        result = await children.run(task)
        assert result.report == "Seen."
        end = await runtime.run_turn("Go")
        assert end.outcome != "configuration", end.summary
        async for event in runtime.loop.compressor.compact_on_request():
            await runtime.loop.monitors.before_compaction(event)
            runtime.session.append(event)

    child = [
        {"calls": [call("search", pattern="RATE")]},
        {"text": "Seen.", "expect": ["denied: a hook: Not in agents"]},
    ]
    turns = [
        {"calls": [call("edit", path="order.py", old="1", new="2")]},
        {"calls": [call("edit", path="cart.py", old="2", new="3")]},
        {"text": "Done."},
    ]
    play(shop, settings_for(script(shop.parent, turns), sandbox="auto"), story)
    told = [json.loads(line) for line in (shop / "events.log").read_text().splitlines()]
    assert sorted(each["hook_event_name"] for each in told) == sorted(["FileChanged", *names])
    [changed] = [each for each in told if each["hook_event_name"] == "FileChanged"]
    assert changed["file_path"] == str(shop / "order.py")
    [stopped] = [each for each in told if each["hook_event_name"] == "SubagentStop"]
    assert stopped["last_assistant_message"] == "Seen."


def test_a_model_is_asked_by_a_prompt_hook(shop: Path) -> None:
    prompt = {"type": "prompt", "prompt": "May it read? $ARGUMENTS", "continueOnBlock": True}
    write_user(PreToolUse=[{"matcher": "Read", "hooks": [prompt]}])
    turns = [{"calls": [call("read", path="cart.py")]}, {"text": "Done.", "expect": ["a hook: secret"]}]
    judge = script(
        shop.parent, [{"text": 'So: {"ok": false, "reason": "secret"}', "expect": ["cart.py"]}], "j.json"
    )
    settings = replace(settings_for(script(shop.parent, turns)), models=ModelSettings(fast=judge))

    async def story(runtime: Runtime, children: Children) -> None:
        end = await runtime.run_turn("Go")
        assert end.summary == "Done."

    play(shop, settings, story)


def test_a_matcher_may_have_any_name_of_a_tool(shop: Path) -> None:
    """Earlier names, and those of other agents; the hook is told today's."""
    refuse = 'grep -o \'"tool_name": "[A-Za-z]*"\' >&2; exit 2'
    names = ("LS", "MultiEdit", "run_shell_command")
    write_user(PreToolUse=[entry for name in names for entry in group(refuse, matcher=name)])
    events = run_session(
        shop,
        [
            {"calls": [call("list", path=".")]},
            {"calls": [call("edit", path="cart.py", old="2", new="3")], "expect": ["Glob"]},
            {"calls": [call("shell", command="ls")], "expect": ["Edit"]},
            {"text": "Done.", "expect": ["Bash"]},
        ],
    )
    assert all("denied: a hook" in each for each in observations(events)[:3])
    assert "3" not in (shop / "cart.py").read_text()
