"""The columns, one idea a file. Importing this package declares them all."""

from grpo_calc.columns import (
    advantage,
    aggregate,
    clip,
    counted,
    dual_clip,
    given,
    gradient,
    kl,
    ratio,
    sampler,
    soft,
    surrogate,
)

__all__ = [
    "advantage",
    "aggregate",
    "clip",
    "counted",
    "dual_clip",
    "given",
    "gradient",
    "kl",
    "ratio",
    "sampler",
    "soft",
    "surrogate",
]
