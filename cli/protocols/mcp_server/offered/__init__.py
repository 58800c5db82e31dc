"""The tools that the server offers, a module for each or for those that share their implementation."""
