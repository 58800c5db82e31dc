"""Reproduction of a bug that is told in words: a script that fails for the reason that the report tells.

Source: AEGIS (an agent-based framework for general bug reproduction from issue descriptions), whose state machine
this is; here code decides each transition, and a model is not needed where the report holds a snippet.
"""
