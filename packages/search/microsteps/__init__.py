"""Micro-steps: one small change a fresh context, decided by votes, checked before the next one."""
