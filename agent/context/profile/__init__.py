"""Profiles: how much of instructions, tools and outputs a model is given, by its window and strength."""
