"""Strategies on simulated authors: real candidate programs and repairs, drawn with a seed, at stated prices."""
