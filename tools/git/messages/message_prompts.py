"""Prompts for commit messages, reviews and pull requests."""

from __future__ import annotations

from tools.core.untrusted_output import enclose_in_tag
from tools.git.messages.message_style import MOSTLY, WIDTH, Style

INSTRUCTIONS = (
    "Write the commit message for this change. Subject: at most {width} characters, imperative mood,\n"
    "what the change does for its reader. Then an empty line and why, only if that is not obvious."
)
"""What a model is asked for; an answer that repeats it is no message."""


def build_message_prompt(style: Style, diff: str) -> str:
    """Build the prompt for a commit message."""
    rules = [INSTRUCTIONS.format(width=min(style.rules.header_length or WIDTH, WIDTH))]
    if stated := style.rules.describe():
        rules.append(f"Rules of this project ({', '.join(style.rules.sources)}):")
        rules.append(enclose_in_tag("rules", "\n".join(stated)))
    if style.template.strip():
        rules.append(enclose_in_tag("template", style.template.strip()))
    if style.is_known:
        if style.conventional >= MOSTLY and not style.rules.is_conventional:
            rules.append(f"Conventional Commits; types in use: {', '.join(style.types[:8])}.")
        if style.language != "en":
            rules.append(f"In the language of the latest commits ({style.language}).")
        rules.append("The latest subjects, whose form you keep:")
        rules += [f"- {each}" for each in style.examples]
    return "\n".join([*rules, enclose_in_tag("diff", diff)])


def build_review_prompt(diff: str, findings: str) -> str:
    """Build the prompt for a review of a change."""
    return "\n".join(
        (
            "Review this change. Name what is wrong or risky, the worst first: bugs, missing cases, security, broken",
            "callers, tests that prove nothing. One line each: `path:line: what is wrong and what to do`. Say nothing",
            "of style, and nothing that the change does not touch. If nothing is wrong, answer: nothing found.",
            *(["Checks have found already:", findings] if findings else []),
            enclose_in_tag("diff", diff),
        )
    )


def build_pull_request_prompt(style: Style, log: str, diff: str) -> str:
    """Build the prompt for the title and the body of a pull request."""
    return "\n".join(
        (
            "Write the title and the description of a pull request for these commits. First line: the title, at most",
            f"{style.width} characters. Then an empty line, then Markdown: what it changes and why, how it was tested",
            "if the commits say so, what a reviewer should look at. No headings but for long ones.",
            enclose_in_tag("log", log),
            enclose_in_tag("diff", diff),
        )
    )
