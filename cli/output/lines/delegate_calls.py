"""The tool call that started an agent: events name the agent, not the call."""

from __future__ import annotations


def find_delegate(tasks: dict[str, str], prompt: str) -> str:
    """Return the call that started a child with this prompt, "" if none did. tasks: of the open calls"""
    fitting = [call for call, task in tasks.items() if task.strip() and task.strip() in prompt]
    return fitting[-1] if fitting else next(reversed(tasks), "")
