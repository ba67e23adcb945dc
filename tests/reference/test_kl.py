"""J. Schulman, Approximating KL Divergence, 2020: k1 = -log r, k2 = (log r)^2 / 2, k3 = (r - 1) - log r, r = p / q.

There q is what is sampled from and p the other: here q is the new policy and p the base, so r = pi_base / pi.
"""

import math

import numpy as np
import pytest

import grpo_calc as gc
from tests.core.tables import random_table


@pytest.mark.parametrize("seed", range(5))
def test_estimators(seed: int) -> None:
    table = random_table(seed)
    worked = gc.work(table, gc.recipe("grpo"))
    pairs = zip(table.tokens["logp_new"].tolist(), table.tokens["logp_ref"].tolist(), strict=True)
    log_r = [ref - new for new, ref in pairs]
    np.testing.assert_allclose(worked["k1"], [-x for x in log_r], rtol=1e-15)
    np.testing.assert_allclose(worked["k2"], [x**2 / 2 for x in log_r], rtol=1e-15)
    np.testing.assert_allclose(worked["k3"], [math.expm1(x) - x for x in log_r], rtol=1e-10, atol=1e-16)


def test_k1_and_k3_estimate_the_kl_without_bias() -> None:
    # Every token of a small vocabulary, weighted by its probability under the new policy: the expectation is the KL.
    new, ref = np.log([0.5, 0.3, 0.2]), np.log([0.25, 0.25, 0.5])
    table = gc.Table.from_arrays(reward=[0, 0, 0], group_id=[0, 0, 0], logp_new=new, logp_old=new, logp_ref=ref)
    worked = gc.work(table, gc.recipe("grpo"))
    kl = float((np.exp(new) * (new - ref)).sum())
    assert (np.exp(new) * worked["k1"]).sum() == pytest.approx(kl, rel=1e-15)
    assert (np.exp(new) * worked["k3"]).sum() == pytest.approx(kl, rel=1e-15)
