"""Reviewer and judge: read-only child sessions whose opinions order what evidence leaves equal, and decide nothing."""
