"""The lessons come out with every figure of their sources, and say in both languages what is whose."""

import csv
import math
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from grpo_calc.lessons import LESSONS, Figure, lesson
from grpo_calc.lessons.six_tokens import PRINTED_KL
from grpo_calc.say import LANGUAGES, Problem
from grpo_calc.work import Worked, work
from grpo_calc.write.told import ours

HERE = Path(__file__).parent


def worked(name: str) -> Worked:
    told = lesson(name)
    return work(told.table, told.recipe)


@pytest.mark.parametrize("name", ["six-tokens", "six-tokens-of-ten"])
def test_every_column_is_the_reference_within_1e_15(name: str) -> None:
    with (HERE / f"{name.replace('-', '_')}_table.csv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    result = worked(name)
    columns = [column for column in rows[0] if result.has(column)]
    assert len(columns) >= 12
    for column in columns:
        np.testing.assert_allclose(result[column], [float(row[column]) for row in rows], rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("name", "mean_loss", "mean_kl", "total"),
    [
        ("six-tokens", 0.0004597709171931437, 0.0007662053124349459, 0.00038315038594964915),
        ("six-tokens-of-ten", 0.00045977228894353295, 0.0007662138835806922, 0.0003831509005854637),
    ],
)
def test_batch_figures_within_1e_15(name: str, mean_loss: float, mean_kl: float, total: float) -> None:
    result = worked(name)
    found = [result["surrogate_objective"], result["kl"], result["objective"], result.loss]
    np.testing.assert_allclose(found, [mean_loss, mean_kl, total, -total], rtol=0, atol=1e-15)


def test_the_chapter_within_1e_15() -> None:
    result = worked("chapter")
    assert result.loss == pytest.approx(0.05008337500992205, abs=1e-15)
    assert result.loss == pytest.approx(math.sinh(0.1) / 2, abs=1e-15)
    gradient = [0.27629272951891193, -0.2262093545089899, 0.27629272951891193, -0.2762927295189119]
    np.testing.assert_allclose(result["gradient"], gradient, rtol=0, atol=1e-15)
    np.testing.assert_allclose(result["advantage"], [-1, 1, -1, 1], rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", LESSONS)
def test_every_figure_of_the_source_is_met(name: str) -> None:
    told, result = lesson(name), worked(name)
    assert told.figures
    assert {figure.agreement(ours(figure, result)) for figure in told.figures} <= {"rounded", "truncated", "exact"}


def test_the_article_prints_nine_figures() -> None:
    assert [(f.column, f.row, f.printed) for f in lesson().figures] == [
        *[("kl_proxy", row, printed) for row, printed in enumerate(PRINTED_KL, start=1)],
        ("kl", None, "0.0007662"),
        ("surrogate_objective", None, "0.00045977"),
        ("objective", None, "0.00038315"),
    ]
    assert {figure.status for figure in lesson().figures} == {"article"}


def test_what_we_worked_by_hand_is_not_called_the_sources() -> None:
    assert {figure.status for figure in lesson("chapter").figures} == {"exact"}


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("name", LESSONS)
def test_every_sentence_of_a_lesson_exists(name: str, lang: str) -> None:
    told = lesson(name)
    assert all(told.text(key, lang) for key in ("title", "about", *told.status, *told.audit))


def test_an_unknown_lesson_lists_the_known_ones() -> None:
    with pytest.raises(Problem, match="six-tokens, six-tokens-of-ten, chapter"):
        lesson("six")


@pytest.mark.parametrize(
    ("printed", "value", "how"),
    [
        ("0.001144", 0.0011436577, "rounded"),
        ("0.0007662", 0.00076627, "truncated"),
        ("0.0007662", -0.0007662, "differs"),
        ("0.0007662", float("nan"), "differs"),
    ],
)
def test_a_printed_figure_is_met_to_its_last_digit(printed: str, value: float, how: str) -> None:
    assert Figure("kl", printed).agreement(value) == how


# What the audit says of the article, checked on its printed figures and on the reconstruction.


def test_no_token_is_clipped_and_no_ratio_comes_near_the_bound() -> None:
    result = worked("six-tokens")
    assert result["clip_fraction"] == 0
    assert f"{abs(result['ratio'] - 1).max():.3f}" == "0.034"


def test_the_printed_mean_is_cut() -> None:
    mean = sum(map(Decimal, PRINTED_KL)) / 6
    assert str(mean)[:10] == "0.00076626"
    assert f"{mean:.8f}" == "0.00076627"
    assert f"{mean:.7f}" == "0.0007663"
    assert Figure("kl", "0.0007662").agreement(float(mean)) == "truncated"


def test_the_printed_mean_loss_is_a_tenth_of_the_kls() -> None:
    tenth = sum(map(Decimal, PRINTED_KL)) / 10
    assert f"{tenth:.8f}" == "0.00045976"
    assert abs(Decimal("0.00045977") / tenth - 1) < Decimal("2.5e-5")


def test_the_proxy_is_about_twice_k3() -> None:
    result = worked("six-tokens")
    np.testing.assert_allclose(result["kl_proxy"] / result["k3"], 2, atol=0.1)


def test_float32_is_not_enough() -> None:
    result = worked("six-tokens")
    logps = [result[name].astype(np.float32) for name in ("logp_new", "logp_old")]
    single = np.mean(np.exp(logps[0] - logps[1]) * result["advantage"].astype(np.float32), dtype=np.float32)
    assert abs(float(single) / result["surrogate_objective"] - 1) > 1e-5


def test_the_second_reconstruction_has_spread_one() -> None:
    rewards = lesson("six-tokens-of-ten").table.completions["reward"]
    assert rewards.std() == pytest.approx(1, abs=1e-15)


def test_the_chapters_text_and_code_differ() -> None:
    rewards = np.array([1, 1.0001])
    centred, std = rewards - rewards.mean(), rewards.std()
    np.testing.assert_allclose(centred / max(std, 1e-6), [-1, 1])
    np.testing.assert_allclose(centred / np.sqrt(std**2 + 1e-6), [-0.04994, 0.04994], atol=5e-6)
