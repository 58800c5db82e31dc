"""Fault localization: coverage spectrum, suspicious statements, evidence from failures, history and hints."""
