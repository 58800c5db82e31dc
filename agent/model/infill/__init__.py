"""Filling the gap between a prefix and a suffix: an ability that coding models have besides talking."""
