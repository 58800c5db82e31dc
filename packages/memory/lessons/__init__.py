"""Lessons drawn from turns by code."""
