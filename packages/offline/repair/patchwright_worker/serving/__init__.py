"""Serving requests: baseline, warm and cold mode, screening and trials of candidates."""
