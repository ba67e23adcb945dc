"""The columns, one idea a file. Importing this package declares them all."""

from grpo_calc.columns import advantage, aggregate, clip, given, gradient, kl, ratio, surrogate

__all__ = ["advantage", "aggregate", "clip", "given", "gradient", "kl", "ratio", "surrogate"]
