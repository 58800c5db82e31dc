"""Test frameworks of the project: collection, runs, failures and names of tests."""
