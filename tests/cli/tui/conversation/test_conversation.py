"""The conversation on a real terminal: what a person sees, key by key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import cli
from tests.support.cli import call, script
from tests.support.talking import AT_SIZES, CART, log_of, prompts, ready, talk, wait_until


@pytest.mark.slow
def test_a_person_is_asked_when_commands_are_not_confined(shop: Path) -> None:
    turns = [
        {"calls": [call("shell", command="bash ./make one"), call("shell", command="bash ./make two")]},
        {"text": "So be it."},
    ]
    (shop / "make").write_text('touch "$1"\n')
    with talk(shop, turns, "--sandbox", "unconfined") as terminal:
        terminal.wait(lambda: ready(terminal))
        terminal.type("touch them\r")
        terminal.wait("│ bash ./make one ")
        terminal.type("y")
        terminal.wait("│ bash ./make two ")
        terminal.type("xn")
        terminal.wait("So be it.")
        assert (shop / "one").exists()
        assert not (shop / "two").exists()
        assert "denied: the user refused it" in terminal.text


@pytest.mark.slow
def test_a_prompt_is_answered_with_markdown_and_a_summary(shop: Path) -> None:
    answer = "# Why\n\nIt is *one* too low:\n\n```python\nreturn sum(prices)\n```\n\n- first\n- second\n"
    with talk(shop, [{"text": answer, "usage": {"input": 1500, "output": 20}}]) as terminal:
        terminal.wait(lambda: ready(terminal))
        terminal.type("why is the total wrong?\r")
        terminal.wait("price unknown")
        terminal.wait(lambda: ready(terminal))
        start = terminal.text.index("❯ why")
        shown = re.sub(r"\d+\.\d+ s · ", "", terminal.text[start:])
        assert shown.startswith(
            "❯ why is the total wrong?\n\nWhy\n\nIt is one too low:\n\n"
            "python\nreturn sum(prices)\n\n• first\n• second\n\n"
            "✔ done · 1 step · 1.5k tokens · price unknown · context 1 %\n\n────"
        )
        terminal.type("/quit\r")
        assert terminal.wait_for_end() == 0


@pytest.mark.slow
def test_actions_plan_and_diff_fit_a_small_terminal(shop: Path) -> None:
    turns = [
        {
            "text": "I look first.",
            "calls": [
                call(
                    "plan", items=[{"text": "read", "status": "done"}, {"text": "fix it", "status": "doing"}]
                ),
                call("read", path="cart.py"),
            ],
        },
        {"calls": [call("edit", path="cart.py", old=" - 1", new="")]},
        {"text": "Fixed."},
    ]
    with talk(shop, turns, columns=40, rows=15) as terminal:
        terminal.wait(lambda: ready(terminal))
        terminal.type("fix the total\r")
        terminal.wait("Fixed.")
        terminal.wait(lambda: ready(terminal))
        everything = terminal.everything
        assert "● read cart.py" in everything
        assert "● edit cart.py: +1 −1" in everything
        assert re.search(r"\n +2 \+ +return sum\(item", everything)
        assert everything.count("● edit") == 1, "what is printed is never printed again"
        assert max(map(len, everything.split("\n"))) <= 40


@pytest.mark.slow
def test_enter_sends_and_other_ways_to_break_a_line_do_not(shop: Path) -> None:
    with talk(shop, [{"text": "Ok."}]) as terminal:
        terminal.wait(lambda: ready(terminal))
        terminal.type("one\x1b\rtwo\nthree\\\rfour")
        terminal.wait("❯ one\n  two\n  three\n  four")
        terminal.type("\r")
        terminal.wait("Ok.")
        assert prompts(shop) == ["one\ntwo\nthree\nfour"]


@pytest.mark.slow
def test_diff_shows_what_was_changed_and_undo_takes_it_back(shop: Path) -> None:
    turns = [
        {
            "calls": [
                call("edit", path="cart.py", old=" - 1", new=""),
                call("shell", command="echo new > made.txt; rm order.py"),
            ]
        },
        {"text": "Fixed."},
        {
            "text": "I see.",
            "expect": ["I have undone the changes of your last turn: cart.py, made.txt, order.py"],
        },
    ]
    with talk(shop, turns, rows=50) as terminal:
        terminal.wait(lambda: ready(terminal))
        terminal.type("fix the total\r")
        terminal.wait("Fixed.")
        terminal.wait(lambda: ready(terminal))
        terminal.type("/diff\r")
        terminal.wait("order.py\n 1    - STATUS = 'open'")
        terminal.wait(lambda: ready(terminal))
        assert "cart.py\n 1  1   def total(items):\n 2    -     return" in terminal.text
        assert "made.txt\n    1 + new" in terminal.text
        terminal.type("/undo\r")
        terminal.wait("3 files as before the turn ")
        assert (shop / "cart.py").read_text() == CART
        assert not (shop / "made.txt").exists()
        assert (shop / "order.py").exists()
        terminal.wait(lambda: ready(terminal))
        terminal.type("what now?\r")
        terminal.wait("I see.")
        terminal.wait(lambda: ready(terminal))
        terminal.type("/undo\r")
        terminal.wait("nothing to undo")


@pytest.mark.slow
def test_undo_refuses_to_overwrite_what_the_user_changed_since(shop: Path) -> None:
    with talk(
        shop, [{"calls": [call("edit", path="cart.py", old=" - 1", new="")]}, {"text": "Fixed."}]
    ) as terminal:
        terminal.wait(lambda: ready(terminal))
        terminal.type("fix the total\r")
        terminal.wait("Fixed.")
        terminal.wait(lambda: ready(terminal))
        (shop / "cart.py").write_text("mine\n")
        terminal.type("/undo\r")
        terminal.wait("nothing was undone")
        terminal.wait("  cart.py: ")
        assert (shop / "cart.py").read_text() == "mine\n"


@pytest.mark.slow
def test_escape_sequences_in_untrusted_text_are_shown_and_do_nothing(shop: Path) -> None:
    turns = [
        {
            "text": "A \x1b[2J\x1b]0;owned\x07 title.",
            "calls": [call("shell", command="printf '\\033[31mx'; exit 3")],
        },
        {"text": "Done."},
    ]
    with talk(shop, turns) as terminal:
        terminal.wait(lambda: ready(terminal))
        terminal.type("go\r")
        terminal.wait("Done.")
        assert "\\x1b[2J\\x1b]0;owned\\x07" in terminal.everything
        assert b"\x1b]0;owned" not in terminal.raw
        assert "exit 3" in terminal.everything


@pytest.mark.slow
def test_the_model_can_be_switched_and_a_wrong_name_changes_nothing(shop: Path) -> None:
    # a script counts the assistant messages of the session it is in: the first one is not its own
    second = script(shop.parent, [{"text": "unused"}, {"text": "Second model here."}], name="second.json")
    with talk(shop, [{"text": "First model here."}]) as terminal:
        terminal.wait(lambda: ready(terminal))
        terminal.type("/model nonsense\r")
        terminal.wait("unknown model 'nonsense'")
        terminal.wait(lambda: ready(terminal))
        terminal.type("hello\r")
        terminal.wait("First model here.")
        terminal.wait(lambda: ready(terminal))
        terminal.type(f"/model {second}\r")
        terminal.wait(lambda: "· model: scripted:" in terminal.text and ready(terminal))
        terminal.type("hello again\r")
        terminal.wait("Second model here.")


@pytest.mark.slow
def test_a_model_without_a_price_is_not_switched_to_while_a_limit_on_cost_holds(shop: Path) -> None:
    env = {"OPENAI_API_KEY": "sk-none", "PATCHWRIGHT_MAX_COST": "1"}
    with talk(shop, [{"text": "Still the first."}], **env) as terminal:
        terminal.wait(lambda: ready(terminal))
        terminal.type("/model openai/mine\r")
        terminal.wait("the price of 'openai/mine' is not known")
        terminal.wait(lambda: ready(terminal))
        terminal.type("hello\r")
        terminal.wait("Still the first.")


@pytest.mark.slow
@AT_SIZES
def test_commands_and_files_are_completed(columns: int, rows: int, shop: Path) -> None:
    with talk(shop, [{"text": "Ok."}], columns=columns, rows=rows) as terminal:
        terminal.wait(lambda: ready(terminal))
        terminal.type("/ses")
        terminal.wait("this proj")  # cut in a narrow window
        terminal.type("\t")
        terminal.wait("❯ /sessions")
        terminal.type("\x03")
        terminal.wait(lambda: ready(terminal))
        terminal.type("look at @car")
        terminal.wait("cart.py")
        terminal.type("\t")
        terminal.wait("❯ look at @cart.py")
        terminal.type("\r")
        terminal.type("\r")
        terminal.wait("Ok.")
        assert prompts(shop) == ["look at @cart.py"]


@pytest.mark.slow
def test_sessions_help_and_cost_are_listed(shop: Path) -> None:
    with talk(
        shop, [{"text": "Ok.", "usage": {"input": 900, "output": 90, "cost": 0.0123}}], rows=70
    ) as terminal:
        terminal.wait(lambda: ready(terminal))
        terminal.type("first question\r")
        terminal.wait("Ok.")
        terminal.wait(lambda: ready(terminal))
        terminal.type("/sessions\r")
        terminal.wait("› first question")
        terminal.wait("done · $0.0123")
        terminal.type("\x1b")
        terminal.wait(lambda: ready(terminal))
        terminal.type("/cost\r")
        terminal.wait("1 call: 900 tokens in, 90 out; $0.0123")
        terminal.wait("all by main (scripted:")
        terminal.type("/help\r")
        terminal.wait("  /undo                   take back the last turn's changes")
        assert "\nChanges\n  /diff  " in terminal.everything
        terminal.type("/udno\r")
        terminal.wait("no command '/udno'. Did you mean /undo?")
        terminal.type("/vim\r")
        terminal.wait("no command '/vim': it is a setting. Like this: /settings terminal.editing vi")


@pytest.mark.slow
def test_a_long_answer_streams_into_the_scrollback_and_is_printed_once(shop: Path) -> None:
    answer = (
        "\n\n".join(f"paragraph {number}" for number in range(200))
        + "\n\n```\n"
        + "code\n" * 200
        + "```\nlast"
    )
    with talk(shop, [{"text": answer}], columns=60, rows=15) as terminal:
        terminal.wait(lambda: ready(terminal))
        terminal.type("tell me all\r")
        terminal.wait("done ·")
        terminal.wait(lambda: ready(terminal))
        lines = terminal.everything.split("\n")
        assert [line for line in lines if line.startswith("paragraph")] == [
            f"paragraph {n}" for n in range(200)
        ]
        assert lines.count("code") == 200


@pytest.mark.slow
def test_a_resize_while_it_works_leaves_the_prompt_in_order(shop: Path) -> None:
    turns = [
        {"calls": [call("shell", command="touch started; until test -e go; do sleep 0.05; done")]},
        {"text": "Done now."},
    ]
    with talk(shop, turns) as terminal:
        terminal.wait(lambda: ready(terminal))
        terminal.type("go\r")
        terminal.wait_beside(lambda: (shop / "started").exists())
        terminal.resize(50, 20)
        terminal.type("typed")
        terminal.wait("❯ typed")
        terminal.resize(100, 30)
        (shop / "go").touch()
        terminal.wait("Done now.")
        terminal.wait("❯ typed")
        assert terminal.text.count("❯ typed") == 1


@pytest.mark.slow
@AT_SIZES
def test_a_closed_terminal_ends_the_turn_and_the_log_is_whole(columns: int, rows: int, shop: Path) -> None:
    turns = [{"calls": [call("shell", command="touch started; sleep 300")]}]
    with talk(shop, turns, columns=columns, rows=rows) as terminal:
        terminal.wait(lambda: ready(terminal))
        terminal.type("wait\r")
        terminal.wait_beside(lambda: (shop / "started").exists())
        terminal.hang_up()
        wait_until(lambda: any(event["kind"] == "end" for event in log_of(shop)))
        assert [event["outcome"] for event in log_of(shop) if event["kind"] == "end"] == ["interrupted"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("term", "options", "columns"), [("dumb", [], 40), ("xterm-256color", ["--plain"], 250)]
)
def test_a_dumb_terminal_gets_lines_and_no_control_sequences(
    term: str, options: list[str], columns: int, shop: Path
) -> None:
    turns = [{"text": "I read it.", "calls": [call("read", path="cart.py")]}, {"text": "It is **fine**."}]
    with talk(shop, turns, *options, columns=columns, TERM=term) as terminal:
        terminal.wait(">")
        terminal.type("look\n")
        terminal.wait("It is **fine**.")
        terminal.wait("done, ")
        terminal.type("/quit\n")
        assert terminal.wait_for_end() == 0
        assert b"\x1b" not in terminal.raw


@pytest.mark.slow
@AT_SIZES
def test_without_colour_nothing_is_coloured(columns: int, rows: int, shop: Path) -> None:
    with talk(
        shop,
        [
            {"text": "A `word`, **bold**.", "calls": [call("read", path="cart.py")]},
            {"text": "```py\ndef b(): 1\n```"},
        ],
        columns=columns,
        rows=rows,
        NO_COLOR="1",
    ) as terminal:
        terminal.wait(lambda: ready(terminal))
        terminal.type("look\r")
        terminal.wait("done ·")
        looks = {
            each for found in re.findall(rb"\x1b\[([0-9;]*)m", terminal.raw) for each in found.split(b";")
        }
        assert looks - {b""} <= {b"0", b"1", b"2", b"4", b"7"}
        assert b"\x1b[1mbold\x1b[0m" in terminal.raw  # a colour it is not


@pytest.mark.slow
def test_the_history_is_kept_for_the_user_alone(shop: Path) -> None:
    with talk(shop, [{"text": "Ok."}]) as terminal:
        terminal.wait(lambda: ready(terminal))
        terminal.type("remember me\r")
        terminal.wait("Ok.")
        terminal.wait(lambda: ready(terminal))
        terminal.type("\x04")
        assert terminal.wait_for_end() == 0
        assert "go on later: patchwright resume 2" in terminal.text
    with talk(shop, [{"text": "Ok."}]) as terminal:
        terminal.wait(lambda: ready(terminal))
        terminal.type("\x1b[A")
        terminal.wait("❯ remember me")
    history = Path(cli.environment()["PATCHWRIGHT_HOME"]) / "data" / "history"
    assert history.stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_diff_after_an_undo_says_what_is_undone_and_still_committed(shop: Path) -> None:
    turns = [
        {"calls": [call("edit", path="cart.py", old=" - 1", new="")]},
        {"calls": [call("git_commit", message="Mend the sum")]},
        {"text": "Mended."},
    ]
    with talk(shop, turns, "--tests", "echo 3 passed in 0.02s", columns=120) as terminal:
        terminal.wait(lambda: ready(terminal))
        terminal.type("mend it\r")
        terminal.wait("Mended.")
        terminal.wait(lambda: ready(terminal))
        terminal.type("/diff\r")
        terminal.wait("\ncommitted: ")
        terminal.type("/undo\r")
        terminal.wait("as before the turn")
        terminal.type("/diff\r")
        terminal.wait(
            "no file differs from before this session's first change\nundone in the files, still committed: "
        )
