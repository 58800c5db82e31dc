"""Runs of a suite: trials, their order, their results and where these are kept."""
