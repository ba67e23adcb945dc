"""Inputs at the edge: a trainer's numbers are reproduced, and where it has none ours are still defined."""

from pathlib import Path

import numpy as np
import pytest

from tests.golden import edge_page
from tests.golden.edges import LOSSES, edge, inputs

SINGLE = 3e-6
"""How far apart two results of single-precision arithmetic may be: they are float32, ours float64."""
NOT_GIVEN = {"entropy"}
"""Logged figures of what the inputs do not have."""
ON_BOUND = "ratio_on_the_clip_boundary"
"""A ratio on a bound is on either side of it in single precision: what is clipped is not compared there."""
PAGE = Path(__file__).parents[2] / "docs" / "edge.md"


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", inputs())
def test_edge(name: str, loss: str) -> None:
    at = edge(name, loss)
    assert np.isfinite(at.ours)
    assert np.isfinite(at.our_gradient).all()
    if np.isfinite(at.theirs):
        assert at.ours == pytest.approx(at.theirs, rel=SINGLE, abs=SINGLE)
    where = at.both_finite()
    np.testing.assert_allclose(at.our_gradient[where], at.their_gradient[where], rtol=SINGLE, atol=SINGLE)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", [name for name in inputs() if name != ON_BOUND])
def test_logged_figures(name: str, loss: str) -> None:
    at = edge(name, loss)
    theirs = {key: value for key, value in at.their_metrics.items() if np.isfinite(value) and key not in NOT_GIVEN}
    if at.our_metrics and theirs:
        assert {key: at.our_metrics[key] for key in theirs} == pytest.approx(theirs, rel=SINGLE, abs=SINGLE)


def test_the_page_is_what_the_data_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == edge_page.text(), "python -m tests.golden.edge_page writes it"
