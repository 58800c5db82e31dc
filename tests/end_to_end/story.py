"""The story that several tests tell through different models: read, edit, run the tests, commit, say so."""

from __future__ import annotations

from typing import Any

from tests.support.cli import call

FIXES = [
    ("ledger/journal.py", "first <= expense.day < last", "first <= expense.day <= last"),
    ("ledger/balance.py", "Transfer(creditor, debtor, cents)", "Transfer(debtor, creditor, cents)"),
    ("ledger/report.py", "ranked[: count - 1]", "ranked[:count]"),
    ("ledger/report.py", "running + paid + share", "running + paid - share"),
]

SUMMARY = "Four bugs are fixed in three files; all tests pass."


def repair() -> list[dict[str, Any]]:
    """Turns that fix the demo's bugs as a good model would; each expects what the step before it showed."""
    return [
        {"text": "I look at the failures first.", "calls": [call("run_tests")]},
        {
            "calls": [call("read", path="ledger/journal.py"), call("read", path="ledger/report.py")],
            "expect": ["test_a_month_ends_with_its_last_day", "5 failed"],
        },
        {
            "calls": [call("edit", path=path, old=old, new=new) for path, old, new in FIXES],
            "expect": ["first <= expense.day < last", "return ranked[: count - 1]"],
        },
        {"calls": [call("run_tests")], "expect": ["ledger/balance.py", "ledger/journal.py"]},
        {"calls": [call("git_commit", message="Settle March to the cent")], "expect": ["36 passed"]},
        {"calls": [call("finish", summary=SUMMARY)], "expect": ["Settle March to the cent"]},
    ]
