"""How numbers look to a reader: as many decimals as a column needs, the same in every row of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grpo_calc.table import Floats

WHOLE = {"row", "token_index", "length", "group_size", "tokens", "completions", "groups", "mask"}
FLAGS = {"clipped", "outside", "clipped_low", "clipped_high", "zero_spread"}
AROUND_ONE = {"ratio", "clipped_ratio", "mean_ratio", "sequence_ratio", "base_ratio"}
UNSIGNED = {
    "kl_proxy",
    "k2",
    "k3",
    "group_std",
    "share",
    "within",
    "across",
    "clip_fraction",
    "clip_low_fraction",
    "clip_high_fraction",
}
FINE = {
    "k1",
    "k2",
    "k3",
    "kl_proxy",
    "token_kl",
    "kl",
    "gradient",
    "token_gradient",
    "kl_gradient",
    "shared_slope",
    "policy_gradient",
}
LEAST, MOST = 4, 7
DOT = "●"


def speller(key: str, values: Floats) -> Callable[[float], str]:
    """How a column's numbers are written, judged from all of its values that are shown.

    >>> speller("kl_proxy", np.array([0.0008010998, 0.0002615371]))(0.0008010998)
    '0.0008011'
    >>> speller("surrogate", np.array([1.5, -0.2]))(1.5), speller("ratio", np.array([1.1]))(1.1051709)
    ('+1.5000', '1.1052')
    """
    if key in WHOLE:
        return lambda value: f"{value:g}"
    if key in FLAGS:
        return lambda value: DOT if value else ""
    if key == "reward":
        return lambda value: f"{value:.6g}"
    finite = np.abs(values[np.isfinite(values)] - (1.0 if key in AROUND_ONE else 0.0))
    decimals = _decimals(finite[finite > 0], 4 if key in FINE else 2)
    signed = key not in AROUND_ONE | UNSIGNED
    return lambda value: fixed(value, decimals, signed=signed)


def _decimals(magnitudes: Floats, digits: int) -> int:
    """Enough decimals that the smallest magnitude shows ``digits`` digits, within bounds."""
    if not magnitudes.size:
        return LEAST
    return int(np.clip(digits - 1 - np.floor(np.log10(magnitudes.min())), LEAST, MOST))


def fixed(value: float, decimals: int, *, signed: bool = True) -> str:
    """A number with so many decimals; one too small for them is written with an exponent, never as 0.

    >>> fixed(0.0, 4), fixed(-0.00001, 4), fixed(123456.0, 4, signed=False)
    ('0.0000', '-1.00e-05', '123456.0000')
    """
    if value == 0:
        return f"{0:.{decimals}f}"
    sign = "+" if signed else ""
    tiny, huge = abs(value) < 5 * 10.0**-(decimals), abs(value) >= 1e7
    return f"{value:{sign}.2e}" if tiny or huge else f"{value:{sign}.{decimals}f}"


def full(value: float) -> str:
    """A number that reads back as itself; a zero without a sign.

    >>> full(-0.0), full(0.1), full(2.0)
    ('0.0', '0.1', '2.0')
    """
    return repr(float(value) + 0.0)


def short(value: float) -> str:
    """A number to eight digits, for a figure or a worked line.

    >>> short(0.00045977091719), short(3.0), short(-0.0)
    ('0.00045977092', '3', '0')
    """
    return f"{value + 0.0:.8g}"
