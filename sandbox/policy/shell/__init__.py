"""Effects of a shell command, determined by parsing it before it runs."""

from __future__ import annotations

from sandbox.policy.shell.judgement import Judgement, Segment, judge_command_line, suggest_rule

__all__ = ["Judgement", "Segment", "judge_command_line", "suggest_rule"]
