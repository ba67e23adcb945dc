"""Which column is which: aliases, choices, and what is never taken silently."""

from __future__ import annotations

import pytest

from grpo_calc.read import read
from grpo_calc.read.aliases import ALIASES
from grpo_calc.say import Problem

ROWS = "a,1,1,-1,-1.1\na,2,0,-2,-2.2\n"
TOKEN_ALIASES = [
    (name, alias) for name in ("logp_new", "logp_old", "logp_ref", "logp_sampler") for alias in ALIASES[name]
]


@pytest.mark.parametrize(("name", "alias"), TOKEN_ALIASES)
def test_log_prob_aliases(name: str, alias: str, file) -> None:
    header = {"logp_new": "logp_new", "logp_old": "logp_old", name: f" {alias.upper()} "}
    lines = [",".join(["group_id", "completion_id", "reward", *header.values()])]
    lines += [",".join(["a", str(i), "1", *(["-1"] * len(header))]) for i in (1, 2)]
    assert name in read(file("\n".join(lines))).tokens


@pytest.mark.parametrize("alias", ALIASES["group_id"])
def test_group_aliases(alias: str, file) -> None:
    assert read(file(f"{alias},completion_id,reward,logp_new,logp_old\n{ROWS}")).group_id == ("a",)


@pytest.mark.parametrize("alias", ALIASES["reward"])
def test_reward_aliases(alias: str, file) -> None:
    assert read(file(f"group_id,completion_id,{alias},logp_new,logp_old\n{ROWS}")).completions["reward"].tolist() == [
        1,
        0,
    ]


@pytest.mark.parametrize("alias", ALIASES["mask"])
def test_mask_aliases(alias: str, file) -> None:
    text = f"group_id,completion_id,reward,logp_new,logp_old,{alias}\na,1,1,-1,-1,1\na,1,1,,,0\n"
    assert read(file(text)).token_count == 1


def test_two_columns_of_one_meaning(file) -> None:
    path = file("group_id,completion_id,reward,score,logp_new,logp_old\na,1,1,1,-1,-1\n")
    with pytest.raises(Problem, match=r"line 1: columns reward and score both mean reward.*--map reward=reward"):
        read(path)
    table = read(path, map={"reward": "score"})
    assert table.completions["reward"].tolist() == [1.0]
    assert "column reward also means reward" in str(table.notes[0])


@pytest.mark.parametrize("column", ["log_probs", "logprobs", "action_log_probs"])
@pytest.mark.parametrize("other", ["logp_old", "logp_ref"])
def test_log_probs_are_never_taken_silently(column: str, other: str, file) -> None:
    path = file(f"group_id,completion_id,reward,{column},{other}\n{ROWS}")
    with pytest.raises(Problem, match=f"column {column}: .*--map new={column} or --map old={column}"):
        read(path)
    assert read(path, map={"new": column, "old": other}).tokens["logp_new"].tolist() == [-1.0, -2.0]
    assert read(path, map={"logp_new": column.upper(), "logp_old": other}).token_count == 2


@pytest.mark.parametrize("column", ["id", "index", "prompt"])
def test_ids_are_never_taken_silently(column: str, file) -> None:
    path = file(f"{column},completion_id,reward,logp_new,logp_old\n{ROWS}")
    with pytest.raises(Problem, match=f"line 1: no group column: .* {column}.*--map group={column}"):
        read(path)
    assert read(path, map={"group": column}).group_id == ("a",)


@pytest.mark.parametrize("column", ["id", "index", "prompt", "log_probs"])
def test_beside_the_real_thing_they_are_left_alone(column: str, file) -> None:
    table = read(file(f"group_id,completion_id,reward,logp_new,logp_old,{column}\na,1,1,-1,-1,x\n"))
    assert [str(note) for note in table.notes] == [
        f"not used, as the name means different things to different trainers: {column}"
    ]


def test_a_slip_of_the_pen_is_said(file) -> None:
    table = read(file("group_id,completion_id,reward,logp_new,logp_old,logp_reff\na,1,1,-1,-1,-1\n"))
    assert "logp_ref" not in table.tokens
    assert "--map logp_ref=logp_reff" in str(table.notes[0])


def test_candidates_for_the_group(file) -> None:
    with pytest.raises(Problem, match=r"could it be prompt, question\? Then add --map group=prompt"):
        read(file("question,completion_id,reward,logp_new,logp_old,prompt\nq,1,1,-1,-1,p\n"))
    with pytest.raises(Problem, match=r"add a column group_id, or name one with --map group=COLUMN"):
        read(file("completion_id,reward,logp_new,logp_old\n1,1,-1,-1\n"))


def test_an_advantage_needs_no_group(file) -> None:
    table = read(file("completion_id,advantage,logp_new,logp_old\n1,1,-1,-1\n2,-1,-1,-1\n"))
    assert table.group_count == 1
    assert [note.key for note in table.notes] == ["note.one_group"]


@pytest.mark.parametrize(
    ("choice", "says"),
    [
        ({"grp": "a"}, r"--map grp=\.\.\.: unknown name: group\? Known: group, completion, new"),
        ({"group": "nothing"}, r"there is no such column; the file has: a, completion_id, reward"),
    ],
)
def test_bad_choices(choice: dict[str, str], says: str, file) -> None:
    with pytest.raises(Problem, match=says):
        read(file(f"a,completion_id,reward,logp_new,logp_old\n{ROWS}"), map=choice)


def test_no_old_names_on_policy(file) -> None:
    path = file("group_id,completion_id,reward,logp_new\na,1,1,-1\n")
    with pytest.raises(Problem, match=r"line 1: no column logp_old; .*--on-policy"):
        read(path)


@pytest.mark.parametrize("header", ["x1,x2,action,y1,y2,y3", "x1,x3,action,y1,y3", "x1,x2,action,y1"])
def test_logit_columns_must_match(header: str, file) -> None:
    with pytest.raises(Problem, match="give x1 to xK and y1 to yK"):
        read(file(f"{header},reward\n" + ",".join("1" * (header.count(",") + 2)) + "\n"))


@pytest.mark.parametrize("action", ["0", "3", "1.5", "x", ""])
def test_the_chosen_component(action: str, file) -> None:
    with pytest.raises(Problem, match=r"line 2: column action: saw '.*'; .*from 1 to 2"):
        read(file(f"x1,x2,action,y1,y2,reward\n0,0,{action},0,0,1\n"))


def test_both_reward_and_advantage_are_kept(file) -> None:
    table = read(file("group_id,completion_id,reward,advantage,logp_new,logp_old\na,1,1,0.5,-1,-1\na,1,1,0.5,-1,-1\n"))
    assert table.completions["advantage"].tolist() == [0.5]
    assert table.completions["reward"].tolist() == [1.0]


def test_an_advantage_that_varies_is_a_token_column(file) -> None:
    text = (
        "group_id,completion_id,advantage,logp_new,logp_old\n" + "a,1,0.5,-1,-1\n" * 3 + "a,1,0.7,-1,-1\na,2,1,-1,-1\n"
    )
    table = read(file(text))
    assert "advantage" not in table.completions
    assert table.tokens["advantage"].tolist() == [0.5, 0.5, 0.5, 0.7, 1.0]
    wide = {
        "group_id": ["a", "b"],
        "advantages": [[0.5, 0.7], 1.0],
        "logp_new": [[-1, -1], [-1]],
        "logp_old": [[-1, -1], [-1]],
    }
    assert read(file(wide, "x.json")).tokens["advantage"].tolist() == [0.5, 0.7, 1.0]
    wide["advantages"] = [[0.5, 0.5], 1.0]
    assert read(file(wide, "x.json")).completions["advantage"].tolist() == [0.5, 1.0]


@pytest.mark.parametrize("column", ["reward_model", "reward_std", "reward_components", "reward_avg"])
def test_what_only_begins_like_a_reward(column: str, file) -> None:
    found = {"group_id": "a", "reward": 1, "logp_new": [-1], "logp_old": [-1], column: {"style": "rule"}}
    assert set(read(file([found], "x.json")).completions) == {"reward"}


def test_advantages_in_lists_without_log_probs(file) -> None:
    found = {"group_id": ["a"], "advantages": [[1, 2]]}
    with pytest.raises(Problem, match="column advantages: differs within"):
        read(file(found, "x.json"))


@pytest.mark.parametrize("cell", [["x"], {"x": 1}, None, ""])
def test_a_group_is_a_plain_value(cell: object, file) -> None:
    found = {"group": cell, "completion_id": "1", "reward": 1, "logp_new": -1, "logp_old": -1}
    with pytest.raises(Problem, match=r"line 1: column group: saw .* where an id is needed"):
        read(file([found], "x.json"))
    with pytest.raises(Problem, match=r"line 1: column group: saw .* where an id is needed"):
        read(file([{**found, "logp_new": [-1], "logp_old": [-1]}], "x.json"))
