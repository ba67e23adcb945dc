"""``grpo-calc table``: every format, on lessons, files and standard input."""

import csv
import io
import json
import math
from pathlib import Path

import pytest

from grpo_calc.lessons import LESSONS, lesson
from grpo_calc.work import SIGN, work

from .conftest import TOKENS, Run


def test_without_a_file_it_works_the_six_tokens(run: Run) -> None:
    done = run("table")
    assert done.exit_code == 0
    assert done.stderr == ""
    assert done.stdout == run("table", "six-tokens").stdout
    for printed in ("0.0008011", "0.0002615", "0.001144", "0.000688", "0.000998", "0.000705"):
        assert f"printed {printed}" in done.stdout
    for printed in ("0.0007662", "0.00045977", "0.00038315"):
        assert f"printed {printed}" in done.stdout
    assert done.stdout.count("✓") == 9
    assert "✗" not in done.stdout
    assert "to be raised" in done.stdout


def test_a_changed_recipe_no_longer_meets_the_print_and_says_so(run: Run) -> None:
    done = run("table", "--set", "beta=0.2")
    assert done.stdout.count("✗") == 1
    assert "differs" in done.stdout


@pytest.mark.parametrize("name", LESSONS)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_lesson_in_both_languages(run: Run, name: str, lang: str) -> None:
    done = run("table", name, "--lang", lang)
    assert done.exit_code == 0
    told = lesson(name)
    assert told.text("title", lang) in done.stdout
    assert "✗" not in done.stdout


def test_json_is_what_the_contract_says(run: Run) -> None:
    found = json.loads(run("table", "chapter", "--format", "json").stdout)
    assert list(found) == ["recipe", "sign", "sources", "notes", "batch", "groups", "completions", "tokens"]
    assert found["recipe"].keys() == {"name", "parameters", "roles"}
    assert found["recipe"]["name"] == "chapter"
    assert found["sign"] == SIGN
    assert found["batch"]["loss"] == pytest.approx(0.05008337500992205, abs=1e-15)
    assert [token["gradient"] for token in found["tokens"]] == pytest.approx(
        [0.27629272951891193, -0.2262093545089899, 0.27629272951891193, -0.2762927295189119], abs=1e-15
    )
    assert [len(found[level]) for level in ("groups", "completions", "tokens")] == [2, 4, 4]
    assert found["groups"][0]["group_id"] == "0"


def test_json_keys_are_english_in_every_language(run: Run) -> None:
    english, chinese = (json.loads(run("table", "--format", "json", "--lang", lang).stdout) for lang in ("en", "zh"))
    assert english == chinese


def test_csv_has_full_precision(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(run("table", "--format", "csv").stdout)))
    told = lesson()
    assert [float(row["gradient"]) for row in rows] == work(told.table, told.recipe)["gradient"].tolist()


@pytest.mark.parametrize(("level", "rows"), [("token", 4), ("completion", 4), ("group", 2), ("batch", 1)])
@pytest.mark.parametrize("format", ["csv", "md"])
def test_levels(run: Run, level: str, rows: int, format: str) -> None:  # noqa: A002
    done = run("table", "chapter", "--format", format, "--level", level)
    assert len(done.stdout.splitlines()) == rows + (1 if format == "csv" else 2)


def test_a_coarser_column_is_repeated(run: Run) -> None:
    done = run("table", "chapter", "--format", "csv", "--columns", "row,group_mean,loss")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["group_mean"] for row in rows] == ["1.5", "1.5", "1.0", "1.0"]
    assert len({row["loss"] for row in rows}) == 1


def test_chosen_columns_come_in_their_order(run: Run) -> None:
    done = run("table", "--format", "csv", "--columns", "ratio, row,share")
    assert done.stdout.splitlines()[0] == "ratio,row,share"


def test_stdin(run: Run, tokens: Path) -> None:
    wanted = run("table", tokens, "--format", "csv").stdout
    assert run("table", "-", "--format", "csv", input=TOKENS).stdout == wanted


def test_csv_reads_back_to_the_same_loss(run: Run, tokens: Path) -> None:
    first = run("table", tokens, "--format", "csv").stdout
    loss = json.loads(run("table", tokens, "--format", "json").stdout)["batch"]["loss"]
    again = json.loads(run("table", "-", "--format", "json", input=first).stdout)
    assert again["batch"]["loss"] == loss
    assert again["notes"] == []


def test_masked_rows_are_left_out_and_shown_on_request(run: Run, tokens: Path) -> None:
    plain = run("table", tokens, "--format", "csv")
    assert "1 masked token" in plain.stderr
    assert [row["row"] for row in csv.DictReader(io.StringIO(plain.stdout))] == ["1", "3", "4"]
    shown = run("table", tokens, "--format", "csv", "--keep-masked")
    rows = list(csv.DictReader(io.StringIO(shown.stdout)))
    assert [row["mask"] for row in rows] == ["1", "0", "1", "1"]
    assert rows[1]["ratio"] == ""
    assert rows[1]["logp_new"] == "-1.2"
    table = run("table", tokens, "--keep-masked").stdout
    assert "␣end" in table
    found = json.loads(run("table", tokens, "--keep-masked", "--format", "json").stdout)
    assert found["tokens"][1]["ratio"] is None


def test_a_masked_csv_reads_back_too(run: Run, tokens: Path) -> None:
    shown = run("table", tokens, "--format", "csv", "--keep-masked").stdout
    losses = [
        json.loads(run("table", *source, "--format", "json", **given).stdout)["batch"]["loss"]
        for source, given in (((tokens,), {}), (("-",), {"input": shown}))
    ]
    assert losses[0] == losses[1]


def test_a_file_uses_grpo_and_a_lesson_its_own(run: Run, tokens: Path) -> None:
    names = [
        json.loads(run("table", *arguments, "--format", "json").stdout)["recipe"]["name"]
        for arguments in ((), (tokens,), ("chapter",), ("chapter", "--recipe", "dapo"))
    ]
    assert names == ["article", "grpo", "chapter", "dapo"]


def test_on_policy(run: Run) -> None:
    given = "group_id,completion_id,reward,logp_new\nq,a,1,-1\nq,b,0,-2\n"
    refused = run("table", "-", "--set", "beta=0", input=given)
    assert refused.exit_code == 2
    assert "--on-policy" in refused.stderr
    done = run("table", "-", "--set", "beta=0", "--on-policy", "--format", "json", input=given)
    assert [token["ratio"] for token in json.loads(done.stdout)["tokens"]] == [1.0, 1.0]


def test_without_log_probs_the_advantages_are_shown(run: Run) -> None:
    given = "group_id,completion_id,reward\nq,a,1\nq,b,0\n"
    done = run("table", "-", input=given)
    assert done.exit_code == 0
    assert "advantage" in done.stdout
    assert "need logp_new and logp_old" in " ".join(done.stdout.split())
    found = json.loads(run("table", "-", "--format", "json", input=given).stdout)
    assert [c["advantage"] for c in found["completions"]] == pytest.approx([math.sqrt(0.5), -math.sqrt(0.5)], abs=1e-3)
    assert found["tokens"] == []


def test_a_sequence_ratio_is_spread_over_token_rows(run: Run, tokens: Path) -> None:
    done = json.loads(run("table", tokens, "--recipe", "gspo", "--format", "json").stdout)
    assert [c["ratio"] for c in done["completions"]] == [done["tokens"][0]["ratio"], done["tokens"][1]["ratio"]]
    assert done["tokens"][1]["ratio"] == done["tokens"][2]["ratio"]


def test_a_clipped_row_is_marked_without_colour(run: Run, tokens: Path) -> None:
    table = run("table", tokens).stdout
    assert "1 ●" in table
    assert "● clipped" in table
    assert "\x1b" not in table


def test_long_tables_are_shortened_and_say_so(run: Run) -> None:
    rows = "".join(f"q,{i},{i % 2},-1,-1,-1\n" for i in range(100))
    given = "group_id,completion_id,reward,logp_new,logp_old,logp_ref\n" + rows
    done = run("table", "-", input=given).stdout
    assert "… 70 more rows; --format csv gives all" in done
    assert len(run("table", "-", "--format", "csv", input=given).stdout.splitlines()) == 101


def test_a_file_comes_before_a_lesson_of_its_name(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "chapter").write_text(TOKENS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    done = run("table", "chapter", "--format", "json")
    assert json.loads(done.stdout)["batch"]["tokens"] == 3
    assert "the file chapter is read" in done.stderr
