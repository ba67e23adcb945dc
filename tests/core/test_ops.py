"""The verbs and the segments behind ``over``: values at their edges, on NumPy and on other kinds of arrays."""

from __future__ import annotations

import array_api_strict
import jax.numpy as jnp
import numpy as np
import pytest

from grpo_calc import ops
from grpo_calc.ops import LARGEST_EXPONENT
from grpo_calc.run import Shape, segments

KINDS = {"numpy": np, "strict": array_api_strict, "jax": jnp}
every_kind = pytest.mark.parametrize("xp", KINDS.values(), ids=KINDS)

EDGES = [0.0, -0.0, 1e-9, 0.0099, 0.01, -0.01, 1.0, -3.0, LARGEST_EXPONENT, -LARGEST_EXPONENT, 700.5, -701.0, 1e6]


@every_kind
def test_exp_is_undefined_beyond_its_limit_and_never_inf(xp) -> None:
    found = np.asarray(ops.exp(xp.asarray(EDGES, dtype=xp.float64)))
    within = np.abs(EDGES) <= LARGEST_EXPONENT
    np.testing.assert_allclose(found[within], np.exp(np.array(EDGES)[within]), rtol=1e-15)
    assert np.isnan(found[~within]).all()
    assert ops.exp(xp.asarray([], dtype=xp.float64)).shape == (0,)


@every_kind
def test_a_flag_of_something_undefined_is_undefined(xp) -> None:
    values = xp.asarray([2.0, 1.0, float("nan"), -1.0], dtype=xp.float64)
    np.testing.assert_array_equal(np.asarray(ops.above(values, 1.0)), [1.0, 0.0, np.nan, 0.0])
    np.testing.assert_array_equal(np.asarray(ops.above(values[:0], 1.0)), [])


@every_kind
def test_min_max_clip_and_where_hand_undefined_on(xp) -> None:
    values = xp.asarray([0.5, 1.5, float("nan")], dtype=xp.float64)
    np.testing.assert_array_equal(np.asarray(ops.clip(values, 0.8, 1.2)), [0.8, 1.2, np.nan])
    np.testing.assert_array_equal(np.asarray(ops.minimum(values, 1.0)), [0.5, 1.0, np.nan])
    np.testing.assert_array_equal(np.asarray(ops.maximum(values, 1.0)), [1.0, 1.5, np.nan])
    np.testing.assert_array_equal(np.asarray(ops.where(values > 1.0, 1.0, 0.0)), [0.0, 1.0, 0.0])


@every_kind
def test_near_zero_takes_the_series_only_near_zero(xp) -> None:
    x = xp.asarray([0.0, 0.0099, 0.01, -0.5], dtype=xp.float64)
    closed = xp.asarray([9.0, 9.0, 9.0, 9.0], dtype=xp.float64)
    np.testing.assert_array_equal(np.asarray(ops.near_zero(x, lambda x: x + 1, closed)), [1.0, 1.0099, 9.0, 9.0])
    np.testing.assert_array_equal(np.asarray(closed), [9.0] * 4)


def test_k3_is_right_to_the_last_digits_near_zero() -> None:
    from fractions import Fraction

    from grpo_calc.columns.kl import base_ratio, k3

    for x in (1e-12, 1e-8, -1e-5, 1e-3, -0.0099, 0.0099, 0.0101, 0.5):
        terms, total, power = 40, Fraction(0), Fraction(1)
        for n in range(1, terms):
            power = power * -Fraction(x) / n
            total += power if n > 1 else 0
        assert k3(x, base_ratio(x)) == pytest.approx(float(total), rel=1e-11 if abs(x) > 0.01 else 1e-13), x


@every_kind
def test_segments_of_every_kind(xp) -> None:
    x = np.array([3.0, -1.0, 4.0, 1.0, -5.0, 9.0])
    over = segments(np.array([0, 2, 2, 5, 6]), xp)
    array = xp.asarray(x)
    np.testing.assert_allclose(np.asarray(over.sum(array)), [2.0, 0.0, 0.0, 9.0], atol=1e-15)
    np.testing.assert_allclose(np.asarray(over.mean(array)), [1.0, 0.0, 0.0, 9.0], atol=1e-15)
    np.testing.assert_array_equal(np.asarray(over.max(array)), [3.0, 0.0, 4.0, 9.0])
    np.testing.assert_array_equal(np.asarray(over.min(array)), [-1.0, 0.0, -5.0, 9.0])
    np.testing.assert_array_equal(np.asarray(over.count()), [2.0, 0.0, 3.0, 1.0])
    np.testing.assert_allclose(np.asarray(over.std(array, 0)), [2.0, 0.0, np.std(x[2:5]), 0.0], atol=1e-15)
    np.testing.assert_allclose(
        np.asarray(over.std(array, 1)), [np.sqrt(8), 0.0, np.std(x[2:5], ddof=1), 0.0], atol=1e-15
    )
    spread = over.spread(xp.asarray([1.0, 2.0, 3.0, 4.0], dtype=xp.float64))
    np.testing.assert_array_equal(np.asarray(spread), [1, 1, 3, 3, 3, 4])


def test_empty_segments_at_the_ends_and_no_rows_at_all() -> None:
    over = segments(np.array([0, 0, 2, 2]), np)
    assert over.sum(np.array([1.0, 2.0])).tolist() == [0.0, 3.0, 0.0]
    nothing = segments(np.array([0, 0, 0]), np)
    assert nothing.mean(np.zeros(0)).tolist() == [0.0, 0.0]
    assert nothing.spread(np.array([1.0, 2.0])).tolist() == []
    assert segments(np.array([0]), np).sum(np.zeros(0)).tolist() == []


def test_a_shape_knows_its_counts() -> None:
    shape = Shape(np.array([0, 3, 3, 5]), np.array([0, 1, 3]))
    assert (shape.tokens, shape.completions) == (5, 3)
