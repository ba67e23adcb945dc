"""``grpo-calc explain``: its numbers are the table's, and its arithmetic is right."""

import re
from pathlib import Path

import pytest

from grpo_calc.lessons import LESSONS, lesson
from grpo_calc.recipes import RECIPES, recipe
from grpo_calc.say import Problem
from grpo_calc.table import Table
from grpo_calc.work import Worked, work
from grpo_calc.write.lines import lines
from grpo_calc.write.numbers import short

from .conftest import Run


@pytest.mark.parametrize("name", LESSONS)
def test_every_line_s_result_is_the_worked_value(name: str) -> None:
    told = lesson(name)
    worked = work(told.table, told.recipe)
    for row in told.table.row.tolist():
        for line in lines(worked, row):
            value = worked[line.name]
            assert line.value in ([value] if isinstance(value, float) else value.tolist())


def batch() -> Table:
    return Table.from_arrays(
        group_id=["p", "p", "q", "q", "q"],
        reward=[1.0, 0.0, 0.5, 0.25, 1.0],
        logp_new=[[-0.5, -1.0], [-2.0], [-0.1, -0.2, -0.3], [-1.0], [-0.7, -0.9]],
        logp_old=[[-0.9, -1.0], [-1.5], [-0.1, -0.4, -0.3], [-1.1], [-0.7, -0.8]],
        logp_ref=[[-0.6, -1.1], [-1.9], [-0.2, -0.2, -0.3], [-1.0], [-0.6, -0.9]],
        logp_sampler=[[-0.9, -1.1], [-1.5], [-0.1, -0.3, -0.3], [-1.1], [-0.7, -0.8]],
    )


@pytest.mark.parametrize("name", [name for name in RECIPES if name not in ("article", "chapter")])
def test_lines_come_after_what_they_read(name: str) -> None:
    try:
        worked = work(batch(), recipe(name, max_length=8))
    except Problem as lacks:
        pytest.skip(str(lacks))
    for row in (1, 3, 5):
        order = [line.name for line in lines(worked, row)]
        place = {each: i for i, each in enumerate(order)}
        for step in worked.plan.steps:
            if step.name in place:
                late = [read for read in step.reads if read in place and place[read] > place[step.name]]
                assert not late, f"{step.name} stands before {late}"


def arithmetic(text: str) -> float:
    """The value of a substituted formula, worked anew by Python."""
    python = re.sub(r"\[(.*)\]", r"float(\1)", text.replace("^", "**"))
    python = re.sub(r"\|([^|]*)\|", r"abs(\1)", python)

    def mean(*values: float) -> float:
        return sum(values) / len(values)

    def clip(x: float, low: float, high: float) -> float:
        return min(max(x, low), high)

    from math import exp

    return float(eval(python, {"exp": exp, "mean": mean, "clip": clip, "sum": lambda *v: sum(v)}))


def checked(worked: Worked, row: int) -> int:
    count = 0
    for line in lines(worked, row):
        if line.numbers and "…" not in line.numbers and "std(" not in line.numbers and "count" not in line.numbers:
            assert arithmetic(line.numbers) == pytest.approx(line.value, rel=1e-5, abs=1e-7), line
            count += 1
    return count


@pytest.mark.parametrize("name", ["grpo", "dapo", "gspo"])
def test_the_substituted_numbers_give_the_result(name: str) -> None:
    worked = work(batch(), name)
    assert all(checked(worked, row) > 15 for row in worked.table.row.tolist())


def test_the_printed_lines(run: Run) -> None:
    text = run("explain", "--token", "3").stdout
    told = lesson()
    worked = work(told.table, told.recipe)
    assert f"exp(log r) = exp({short(worked['log_ratio'][2])}) = {short(worked['ratio'][2])}" in text
    assert "PPO, arXiv:1707.06347" in text
    assert "mean(R) = mean(5, 3, 6, 2, 1, 4) = 3.5" in text
    assert text.index("reward") < text.index("ratio") < text.index("token loss") < text.index("gradient")


def test_a_masked_token_cannot_be_explained(run: Run, tokens: Path) -> None:
    done = run("explain", tokens, "--token", "2")
    assert done.exit_code == 2
    assert "row 2 is masked" in done.stderr


def test_rows_are_numbered_as_the_table_numbers_them(run: Run, tokens: Path) -> None:
    assert "log π = -2 " in run("explain", tokens, "--token", "3").stdout


def test_many_numbers_are_shortened(run: Run) -> None:
    rows = "".join(f"q,{i},{i % 2},-1,-1,-1\n" for i in range(20))
    given = "group_id,completion_id,reward,logp_new,logp_old,logp_ref\n" + rows
    assert "mean(0, 1, 0, 1, 0, …, 0, 1) = 0.5" in run("explain", "-", "--token", "1", input=given).stdout


def test_without_log_probs_there_is_nothing_to_explain(run: Run) -> None:
    done = run("explain", "-", "--token", "1", input="group_id,completion_id,reward\nq,a,1\nq,b,0\n")
    assert done.exit_code == 2
    assert "give logp_new and logp_old" in done.stderr


def test_reconstructed_inputs_are_called_that(run: Run) -> None:
    assert "reward · reconstructed" in run("explain", "--token", "3").stdout
    assert "reward · given" in run("explain", "chapter", "--token", "3").stdout
    assert "Inputs · reconstructed" in run("table").stdout


def test_the_policy_s_part_of_the_gradient_has_its_sign(run: Run) -> None:
    text = run("explain", "--token", "3").stdout
    assert "-dS/dlogπ + share * beta dKL" in text


def test_no_step_is_told_twice() -> None:
    told = lesson()
    worked = work(told.table, told.recipe)
    steps = [(line.label.symbol, line.formula, line.numbers) for line in lines(worked, 3) if line.formula]
    assert len(steps) == len(set(steps))


def test_how_tokens_are_averaged_is_said(run: Run) -> None:
    assert "From tokens to S (reduction=completion_mean): mean over" in run("explain", "--token", "3").stdout
