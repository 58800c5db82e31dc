"""Automatic program repair without a model: tools, engine, fault localization, templates."""
