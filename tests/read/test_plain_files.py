"""Plain files: the right behaviour, or the one line that says what is wrong, where, and what to do."""

from __future__ import annotations

import gzip
import json
import re
import zipfile
from pathlib import Path

import openpyxl
import pytest

from grpo_calc.read import read, source, workbook
from grpo_calc.say import LANGUAGES, Problem

HEADER = "group_id,completion_id,reward,logp_new,logp_old,mask"
GOOD = f"{HEADER}\na,1,1,-1,-1.5,1\na,2,0,-2,-2.5,1\n"
DEEP = 200_000


def refused(path: Path | str, *says: str, line: int | None = None, **options: object) -> Problem:
    """The problem that reading raises: one line in both languages, with the file, the line and these words."""
    with pytest.raises(Problem) as caught:
        read(path, **options)  # type: ignore[arg-type]
    problem = caught.value
    for lang in LANGUAGES:
        text = problem.text(lang)
        assert len(text.splitlines()) == 1
        assert "{" not in text.replace('{"group_id"', "").replace("{...}", "")
        if isinstance(path, Path) and path.name.isprintable():
            assert path.name in text
    text = str(problem)
    if line is not None:
        assert re.search(rf"lines? (\d+ and )?{line}\b", text), text
    for words in says:
        assert words in text, text
    return problem


# --- marks and encodings


@pytest.mark.parametrize(
    "mark", ["\ufeff", "\ufeff\ufeff", "\u00ef\u00bb\u00bf", "\ufeff\u00ef\u00bb\u00bf", "\n\ufeff", "\ufeff\n"]
)
@pytest.mark.parametrize("quote", ["", '"'])
def test_a_byte_order_mark_never_sticks(mark: str, quote: str, file) -> None:
    text = mark + GOOD.replace("group_id", f"{quote}group_id{quote}")
    assert read(file(text)).group_id == ("a",)


def test_a_mark_within_the_quotes(file) -> None:
    assert read(file(GOOD.replace("group_id", '"\ufeffgroup_id"'))).group_id == ("a",)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_utf16_by_its_mark(encoding: str, delimiter: str, file) -> None:
    mark = "\ufeff" if encoding.endswith("e") else ""
    text = (mark + GOOD.replace("a,", "组é,")).replace(",", delimiter)
    assert read(file(text.encode(encoding))).group_id == ("组é",)


def test_json_with_a_mark(file) -> None:
    found = json.dumps([{"group_id": "a", "reward": 1, "logp_new": [-1], "logp_old": [-1]}])
    for content in (
        "\ufeff" + found,
        "\ufeff\ufeff" + found,
        found.encode("utf-16"),
        "\ufeff" + found[1:-1] + "\n" + found[1:-1],
    ):
        assert read(file(content, "x.json")).group_id == ("a",)


def test_not_utf8(file) -> None:
    refused(file(GOOD.replace("a,2", "\u00e9,2").encode("latin-1")), "UTF-8", line=3)
    refused(file((GOOD * 1).replace("a,1", "\u7ec4,1").encode("gbk")), "save the file as UTF-8", line=2)
    refused(file(GOOD.encode("utf-16")[:-1]), "UTF-16", line=3)
    refused(file(GOOD.encode() + b'[{"a": "\xff"}]', "x.json"), line=4)
    refused(file(b'{"reward": 1}\n{"reward": "\xff"}\n', "x.jsonl"), line=2)


# --- delimiters and decimals


def test_decimal_commas(file) -> None:
    table = read(file("group_id;completion_id;reward;logp_new;logp_old\na;1;1;-1,5;-1,25\na;2;0,5;-2;-1,234\n"))
    assert table.tokens["logp_old"].tolist() == [-1.25, -1.234]
    assert table.completions["reward"].tolist() == [1.0, 0.5]


def test_decimal_points_with_semicolons(file) -> None:
    assert read(file(GOOD.replace(",", ";"))).tokens["logp_old"].tolist() == [-1.5, -2.5]


def test_decimal_commas_are_seen_late(file) -> None:
    rows = [f"a;{i};1;-1;-1" for i in range(60_000)]
    table = read(file("\n".join(["group_id;completion_id;reward;logp_new;logp_old", *rows, "b;1;1;-0,5;-1"])))
    assert table.tokens["logp_new"][-1] == -0.5


@pytest.mark.parametrize("cell", ["-1.5", "1.234,5", "1,234,5", "1 234,5"])
def test_no_mixing_of_decimal_marks(cell: str, file) -> None:
    refused(
        file(f"group_id;completion_id;reward;logp_new;logp_old\na;1;1;-1,5;-1,5\na;2;0;{cell};-1\n"),
        "logp_new",
        cell,
        line=3,
    )


def test_semicolons_with_lists_and_decimal_commas(file) -> None:
    table = read(file("group_id;reward;logp_new;logp_old\na;0,5;[-0.5, -1];[-1, -1]\n"))
    assert table.completions["reward"].tolist() == [0.5]
    assert table.tokens["logp_new"].tolist() == [-0.5, -1.0]


@pytest.mark.parametrize("cell", ["1,234", "-1,234", "1,234,567", "0,5", "1,234.5"])
@pytest.mark.parametrize("delimiter", [",", "\t", "|"])
def test_a_comma_in_a_number_is_no_guess(cell: str, delimiter: str, file) -> None:
    text = GOOD.replace(",", delimiter).replace("-2.5", f'"{cell}"')
    refused(file(text), "column logp_old", cell, "decimal", line=3)


@pytest.mark.parametrize("first", ["sep=;", "SEP=;", '"sep=;"', "\ufeffsep=;", "\n\nsep=;"])
def test_a_line_that_names_the_delimiter(first: str, file) -> None:
    path = file(f"{first}\r\n" + GOOD.replace(",", ";").replace("-2.5", "x"))
    refused(path, "logp_old", "'x'", line=4 + first.count("\n"))
    assert read(file(f"{first}\n" + GOOD.replace(",", ";"))).token_count == 2


def test_a_delimiter_of_ones_own(file) -> None:
    assert read(file("sep=\t\n" + GOOD.replace(",", "\t"))).token_count == 2
    assert read(file("sep=^\n" + GOOD.replace(",", "^"))).token_count == 2


# --- lines, quotes and rows


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\n\n", "\r\n\r\n", "\n \n", "\n,,,,,\n", '\n"","","","","",""\n'])
def test_line_ends_and_blank_lines(end: str, file) -> None:
    for last in ("", end):
        table = read(file(GOOD.strip().replace("\n", end) + last))
        assert table.tokens["logp_old"].tolist() == [-1.5, -2.5]


def test_mixed_line_ends(file) -> None:
    lines = GOOD.strip().split("\n")
    for ends in (("\r\n", "\n", "\r"), ("\r", "\n", "\r\n"), ("\n", "\r", "\n")):
        assert read(file("".join(map("".join, zip(lines, ends, strict=True))))).token_count == 2
    refused(file(f"{lines[0]}\r\n\n\r{lines[1]}\n{lines[2]}x\r\n"), "mask", line=5)


def test_a_long_cell(file) -> None:
    for long in ("x" * 200_000, '"' + "x,\n" * 100_000 + '"'):
        table = read(file(f"token,{HEADER}\n{long},a,1,1,-1,-1,1\ny,a,1,1,-1,-1,1\n"))
        assert len(table.texts["token"][0]) == len(long) - 2 * long.startswith('"')
        refused(file(f"token,{HEADER}\n{long},a,1,1,-1,-1,1\ny,a,1,1,-1,z,1\n"), "'z'", line=3 + long.count("\n"))


@pytest.mark.parametrize("where", ["logp", "token", "last"])
def test_an_unclosed_quote(where: str, file) -> None:
    row = {"logp": 'x,a,2,0,"-2,-2,1', "token": '"x,a,2,0,-2,-2,1', "last": 'x,a,2,0,-2,-2,"1'}[where]
    refused(
        file(f"token,{HEADER}\nx,a,1,1,-1,-1,1\n{row}\nx,a,1,1,-1,-1,1\n" + "x,a,1,1,-1,-1,1\n" * 9),
        "a quote opens",
        line=3,
    )


def test_an_unclosed_quote_in_the_header(file) -> None:
    refused(file('group_id,"reward\na,1\n'), "a quote opens", line=1)


def test_an_unclosed_quote_far_down(file) -> None:
    rows = "x,a,1,1,-1,-1,1\n" * 100_000
    refused(file(f'token,{HEADER}\n{rows}"x,a,1,1,-1,-1,1\n{rows}'), "a quote opens", line=100_002)


def test_text_after_a_quote(file) -> None:
    refused(file(GOOD.replace("-2.5", '"-2".5')), "text follows a closing quote", line=3)


def test_quotes(file) -> None:
    row = ",a,1,1,-1,-1,1\n"
    text = f'token,{HEADER}\n",",a,1,1,-1,-1,1\n""""{row}"\n"{row}5",a,1,1,"-1",-1,1\n"a""b"{row}'
    table = read(file(text))
    assert list(table.texts["token"]) == [",", '"', "\n", '5"', 'a"b']
    refused(file(text + "x,a,1,1,-1,q,1\n"), "'q'", line=8)
    regular = text.replace('5"', "5")  # without the stray quote the quick way takes it
    assert list(read(file(regular)).texts["token"]) == [",", '"', "\n", "5", 'a"b']
    refused(file(regular + "x,a,1,1,-1,q,1\n"), "'q'", line=8)


@pytest.mark.parametrize("row", ["a,2,0,-2,-2.5", "a", "a,2,0,-2,-2.5,1,1", "a,2,0,-2,-2.5,1,"])
@pytest.mark.parametrize("before", [0, 1, 50_000])
def test_rows_that_are_not_as_long_as_the_header(row: str, before: int, file) -> None:
    rows = "a,1,1,-1,-1,1\n" * before
    refused(
        file(f"{HEADER}\n{rows}{row}\n{rows}"),
        f"has {row.count(',') + 1} cells where the header has 6",
        line=before + 2,
    )


def test_a_long_and_a_short_row_do_not_make_up_for_each_other(file) -> None:
    refused(file(f"{HEADER}\na,1,1,-1,-1,1,1\na,2,0,-2,-2\n"), "has 7 cells", line=2)


@pytest.mark.parametrize("name", ["reward", "token", "colour"])
def test_a_header_twice(name: str, file) -> None:
    refused(file(f"{name},{name} ,group_id,logp_new\n1,1,a,-1\n"), f"columns 1 and 2 are both named {name}", line=1)


def test_columns_without_names(file) -> None:
    assert read(file(f",{HEADER},\n0,a,1,1,-1,-1,1,\n")).token_count == 1


def test_no_header(file) -> None:
    refused(file("0,1,-0.5,-0.6\n1,1,-0.5,-0.6\n"), "a number, where column names are expected", line=1)


# --- numbers

NOT_NUMBERS = [
    "1_000", "-1_0.5", "\uff11.\uff15", "\u0661", "12%", "tensor(0.5)", "#N/A", "N/A", "NA", "null", "None",
    "\u22120.5", "\u20130.5", "0x1p3", "0x10", "True", "false", "1e", "--1", "1-", "1.2.3", "1 2", "$1", "1f", "1d5",
    "(1)", "'1", "-", ".", "e5", "+", "1e+", "\u00bd", "[1", "=1+1", "one", "#DIV/0!", "1;2",
]  # fmt: skip


@pytest.mark.parametrize("cell", NOT_NUMBERS)
@pytest.mark.parametrize("column", ["reward", "logp_new", "logp_old"])
def test_what_is_not_a_number(cell: str, column: str, file) -> None:
    row = {
        "group_id": "a",
        "completion_id": "2",
        "reward": "0",
        "logp_new": "-1",
        "logp_old": "-1",
        "mask": "1",
        column: cell,
    }
    problem = refused(
        file(f"{HEADER}\na,1,1,-1,-1,1\n{','.join(row.values())}\n"), f"column {column}", cell, "-0.5", line=3
    )
    assert cell.isascii() or "(U+" in str(problem)
    assert cell in problem.text("zh")
    if column != "reward":
        refused(
            file([{"group_id": "a", "reward": 1, "logp_new": [-1], "logp_old": [-1], column: [cell]}], "x.json"),
            cell,
            f"{column}[0]",
            line=1,
        )


@pytest.mark.parametrize(
    "cell",
    [
        "-0.5",
        "-.5",
        "-0.50",
        "-5e-1",
        "-5E-01",
        "-0.05e1",
        "-0.5e+00",
        " -0.5 ",
        '"-0.5"',
        "-00.5",
        "-0.500000000000000000000000000000000",
    ],
)
def test_what_is_a_number(cell: str, file) -> None:
    assert read(file(f"{HEADER}\na,1,+1,{cell},-5.,1\n")).tokens["logp_new"].tolist() == [-0.5]


@pytest.mark.parametrize(
    "cell", ["nan", "NaN", "-nan", "inf", "-inf", "Infinity", "-Infinity", "1e400", "-1e400", "+inf"]
)
@pytest.mark.parametrize("column", ["reward", "logp_new", "logp_old"])
def test_what_is_not_finite(cell: str, column: str, file) -> None:
    row = {
        "group_id": "a",
        "completion_id": "2",
        "reward": "0",
        "logp_new": "-1",
        "logp_old": "-1",
        "mask": "1",
        column: cell,
    }
    refused(file(f"{HEADER}\na,1,1,-1,-1,1\n{','.join(row.values())}\n"), f"column {column}", cell, line=3)


@pytest.mark.parametrize("cell", ["", " ", "-inf", "-Infinity", "nan"])
def test_what_a_masked_token_may_hold(cell: str, file) -> None:
    table = read(file(f"{HEADER}\na,1,1,-1,-1,1\na,1,1,{cell},{cell},0\na,1,1,-2,-2,1\n"))
    assert table.tokens["logp_new"].tolist() == [-1.0, -2.0]
    assert table.row.tolist() == [1, 3]


@pytest.mark.parametrize("cell", ["inf", "1e400", "x", "1_0"])
def test_what_a_masked_token_may_not_hold(cell: str, file) -> None:
    refused(file(f"{HEADER}\na,1,1,-1,-1,1\na,1,1,{cell},-1,0\n"), "logp_new", cell, line=3)


@pytest.mark.parametrize("column", ["reward", "logp_new", "logp_old", "mask", "group_id", "completion_id"])
@pytest.mark.parametrize("cell", ["", " "])
def test_an_empty_cell_is_missing_never_zero(column: str, cell: str, file) -> None:
    row = {
        "group_id": "a",
        "completion_id": "2",
        "reward": "0",
        "logp_new": "-1",
        "logp_old": "-1",
        "mask": "1",
        column: cell,
    }
    refused(file(f"{HEADER}\na,1,1,-1,-1,1\n{','.join(row.values())}\n"), f"column {column}", line=3)


@pytest.mark.parametrize("cell", ["2", "-1", "0.5", "yes", "nan", "inf", "x"])
def test_a_mask_is_0_or_1(cell: str, file) -> None:
    refused(
        file(f"{HEADER}\na,1,1,-1,-1,1\na,1,1,-1,-1,{cell}\n"), "column mask", f"'{cell}'", "1 (counts) or 0", line=3
    )


@pytest.mark.parametrize(
    ("yes", "no"), [("1", "0"), ("1.0", "0.0"), ("True", "False"), ("TRUE", "false"), ("true", "0")]
)
def test_masks(yes: str, no: str, file) -> None:
    assert read(file(f"{HEADER}\na,1,1,-1,-1,{yes}\na,1,1,-1,-1,{no}\n")).token_count == 1


@pytest.mark.parametrize("cell", ["0", "-0.5", "1.01", "2"])
def test_a_probability_lies_between(cell: str, file) -> None:
    refused(
        file(f"group_id,completion_id,reward,prob_new,prob_old\na,1,1,{cell},0.5\n"),
        "column prob_new",
        f"'{cell}'",
        "at most 1",
        line=2,
    )


@pytest.mark.parametrize("cell", ["-9999", "-9999.0", "-999", "-1e9"])
def test_sentinels_are_never_counted(cell: str, file) -> None:
    refused(file(f"{HEADER}\na,1,1,-1,{cell},1\n"), "column logp_old", cell, line=2)
    assert read(file(f"{HEADER}\na,1,1,-1,{cell},0\na,1,1,-1,-1,1\n")).token_count == 1


def test_a_positive_log_prob_is_a_warning(file) -> None:
    table = read(file(f"{HEADER}\na,1,1,0.5,-1,1\n"))
    assert table.tokens["logp_new"].tolist() == [0.5]
    assert "above 0" in str(table.notes[0])


# --- ids, groups and order


def test_ids_are_text(file) -> None:
    rows = "".join(f"{group},1,1,-1,-1,1\n" for group in ("007", "7", "7.0", "07", "7e0", " 7", "1_0"))
    assert read(file(f"{HEADER}\n{rows}")).group_id == ("007", "7", "7.0", "07", "7e0", " 7", "1_0")
    found = [{"group_id": group, "reward": 1, "logp_new": [-1], "logp_old": [-1]} for group in ("007", "7", 7.0)]
    assert read(file(found, "x.json")).group_id == ("007", "7", "7.0")


def test_the_same_completion_id_in_two_groups(file) -> None:
    table = read(file(f"{HEADER}\na,1,1,-1,-1,1\nb,1,0,-1,-1,1\n"))
    assert (table.group_id, table.completion_id) == (("a", "b"), ("1", "1"))


def test_interleaved_groups(file) -> None:
    table = read(file(f"{HEADER}\na,1,1,-1,-1,1\nb,1,0,-2,-1,1\na,2,0,-3,-1,1\nb,2,1,-4,-1,1\n"))
    assert table.group_id == ("a", "b")
    assert table.tokens["logp_new"].tolist() == [-1.0, -3.0, -2.0, -4.0]
    assert table.tokens["logp_new"][table.order].tolist() == [-1.0, -2.0, -3.0, -4.0]
    assert [note.key for note in table.notes] == ["note.regrouped"]


def test_interleaved_completions(file) -> None:
    text = "group_id,completion_id,reward,logp_new,logp_old,token\n" + "".join(
        f"a,{i},{i},{-(10 * step + i)},-1,t{step}{i}\n" for step in (1, 2) for i in (1, 2)
    )
    table = read(file(text))
    assert table.tokens["logp_new"].tolist() == [-11.0, -21.0, -12.0, -22.0]
    assert list(table.texts["token"]) == ["t11", "t21", "t12", "t22"]
    assert table.row.tolist() == [1, 3, 2, 4]
    assert [note.key for note in table.notes] == ["read.rejoined"]


def test_rows_are_put_in_the_order_of_their_index(file) -> None:
    text = "group_id,completion_id,token_index,reward,logp_new,logp_old\na,1,2,1,-3,-1\na,1,0,1,-1,-1\na,1,1,1,-2,-1\n"
    table = read(file(text))
    assert table.tokens["logp_new"].tolist() == [-1.0, -2.0, -3.0]
    assert table.row.tolist() == [2, 3, 1]
    assert [note.key for note in table.notes] == ["read.sorted"]
    assert read(file(text.replace(",2,1,", ",-7,1,").replace("-1,-1\n", "-1,-1\n"))).notes == ()


def test_an_index_twice(file) -> None:
    rows = "a,1,0,1,-3,-1\na,1,1,1,-1,-1\nb,1,0,1,-1,-1\na,1,0,1,-2,-1\n"
    text = f"group_id,completion_id,token_index,reward,logp_new,logp_old\n{rows}"
    refused(file(text), "lines 2 and 5: column token_index: both are 0")


@pytest.mark.parametrize("cell", ["0.5", "x", "", "nan"])
def test_an_index_is_a_whole_number(cell: str, file) -> None:
    refused(
        file(f"group_id,completion_id,token_index,reward,logp_new,logp_old\na,1,{cell},1,-3,-1\n"),
        "token_index",
        line=2,
    )


@pytest.mark.parametrize("gap", [0, 40_000])
@pytest.mark.parametrize("column", ["reward", "reward_math"])
def test_rewards_that_differ_within_a_completion(gap: int, column: str, file) -> None:
    text = (
        f"group_id,completion_id,{column},logp_new,logp_old\na,0,1,-1,-1\n"
        + "a,1,1,-1,-1\n" * (gap + 2)
        + "a,1,2,-1,-1\n"
    )
    refused(file(text), f"lines 3 and {gap + 5}: column {column}: differs within completion 1")


def test_rewards_that_differ_between_pieces_of_a_completion(file) -> None:
    text = "group_id,completion_id,reward,logp_new,logp_old\na,1,,-1,-1\na,1,1,-1,-1\na,2,1,-1,-1\na,1,2,-1,-1\n"
    refused(file(text), "lines 3 and 5: column reward: differs within completion 1")


def test_a_reward_on_one_row_of_a_completion(file) -> None:
    table = read(file(f"{HEADER}\na,1,,-1,-1,1\na,1,0.5,-1,-1,1\na,2,1,-1,-1,1\na,1,,-1,-1,1\n"))
    assert table.completions["reward"].tolist() == [0.5, 1.0]


def test_no_completion_id(file) -> None:
    table = read(file("group_id,reward,logp_new,logp_old\na,1,-1,-1\na,1,-1,-1\nb,1,-1,-1\n"))
    assert (table.completion_count, table.completion_id) == (3, ("1", "2", "3"))
    assert "each row is taken as a completion" in str(table.notes[0])


def test_a_completion_twice_in_a_wide_file(file) -> None:
    found = [{"group_id": "a", "completion_id": "x", "reward": 1, "logp_new": [-1], "logp_old": [-1]}] * 2
    refused(file("\n".join(map(json.dumps, found)), "x.jsonl"), "lines 1 and 2: column completion_id: both are x")


# --- lists


@pytest.mark.parametrize(
    "cell", ["[-0.5 -1]", "[-0.5, -1", "[-0,5; -1]", "['a', 'b']", "[1_0, 1]", "[tensor(1), 1]", "[None, 1]"]
)
def test_a_cell_that_is_no_list(cell: str, file) -> None:
    text = f'group_id,reward,logp_new,logp_old\na,1,"[-1, -1]","[-1, -1]"\na,1,"{cell}","[-1, -1]"\n'
    refused(file(text), "column logp_new", cell, "not a JSON list", line=3)


@pytest.mark.parametrize("cell", ["[-1]", "[-1, -1, -1]", "[]", "-1"])
def test_lists_of_unequal_length(cell: str, file) -> None:
    text = f'group_id,reward,logp_new,logp_old\na,1,"[-1, -1]","[-1, -1]"\na,1,"[-1, -1]","{cell}"\n'
    refused(file(text), "column logp_old has", "tokens where logp_new has 2", line=3)


@pytest.mark.parametrize("value", [None, "x", True, [1], {"a": 1}, float("nan"), float("inf"), 10**400])
def test_one_token_in_a_list(value: object, file) -> None:
    found = [
        {"group_id": "a", "reward": 1, "logp_new": [-1, -1], "logp_old": [-1, -1]},
        {"group_id": "a", "reward": 1, "logp_new": [-1, value], "logp_old": [-1, -1]},
    ]
    for indent, line in ((None, 1), (1, 19)):
        refused(file(json.dumps(found, indent=indent), "x.json"), "column logp_new[1]", line=line)
    refused(file("\n".join(map(json.dumps, found)), "x.jsonl"), "column logp_new[1]", line=2)


@pytest.mark.parametrize("value", [[1], "x", {"a": 1}, True, None, float("nan"), float("inf")])
def test_a_reward_is_one_number(value: object, file) -> None:
    found = [
        {"group_id": "a", "reward": 1, "logp_new": [-1], "logp_old": [-1]},
        {"group_id": "a", "reward": value, "logp_new": [-1], "logp_old": [-1]},
    ]
    refused(file(json.dumps(found, indent=0), "x.json"), "column reward", line=14)


def test_json_booleans_are_no_numbers_but_masks(file) -> None:
    found = {"group_id": "a", "reward": 1, "logp_new": [-1, -1], "logp_old": [-1, -1], "mask": [True, False]}
    assert read(file([found], "x.json")).token_count == 1
    refused(file([{**found, "mask": [True, 2]}], "x.json"), "column mask[1]", "'2'")


def test_columns_of_unequal_length(file) -> None:
    found = {"group_id": ["a", "a"], "reward": [1], "logp_new": [[-1], [-1]], "logp_old": [[-1], [-1]]}
    refused(file(json.dumps(found, indent=1), "x.json"), "column reward has 1 entries where group_id has 2", line=6)


# --- JSON itself


def test_line_separators_within_json_lines(file) -> None:
    row = json.dumps(
        {"group_id": "a\u2028b\u2029\u0085", "reward": 1, "logp_new": [-1], "logp_old": [-1]}, ensure_ascii=False
    )
    table = read(file(f"{row}\n{row}\n", "x.jsonl"))
    assert (table.group_id, table.completion_count) == (("a\u2028b\u2029\u0085",), 2)


def test_a_key_twice(file) -> None:
    refused(file('[{"group_id": "a",\n "reward": 1,\n "reward": 2}]', "x.json"), "key reward comes twice", line=3)
    refused(file('{"reward": 1}\n{"group_id": "a", "a": {"b": 1, "b": 1}}\n', "x.jsonl"), "key b comes twice", line=2)


@pytest.mark.parametrize(
    "text", ["[" * DEEP, '{"a":' * DEEP, "[" * DEEP + "]" * DEEP, '{"reward": ' + "[" * DEEP + "]" * DEEP + "}"]
)
def test_deep_nesting(text: str, file) -> None:
    refused(file(text, "x.json"), "nested too deeply", line=1)
    refused(file('{"reward": 1}\n' + text.replace("\n", ""), "x.jsonl"), "nested too deeply", line=2)


def test_deep_nesting_in_a_cell(file) -> None:
    refused(file(f'group_id,reward,logp_new,logp_old\na,1,"{"[" * DEEP}","[-1]"\n'), "column logp_new", line=2)


@pytest.mark.parametrize("digits", [5_000, 500_000])
def test_an_integer_without_end(digits: int, file) -> None:
    refused(file('{"reward": 1,\n "group_id": ' + "9" * digits + "}", "x.json"), "thousands of digits", line=2)
    refused(file('{"reward": 1}\n{"reward": ' + "9" * digits + "}", "x.jsonl"), "thousands of digits", line=2)
    refused(file(f"{HEADER}\na,1,1,-1,{'9' * digits},1\n"), "column logp_old", "not a finite number", line=2)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[{"a": 1},\n{"a": }]', 2),
        ('{"a": 1\n"b": 2}', 2),
        ("[1,", 1),
        ('{"a": 01}', 1),
        ("{'a': 1}", 1),
        ('{"a": 1}\n{"a": 1,}', 2),
    ],
)
def test_broken_json(text: str, line: int, file) -> None:
    refused(file(text, "x.json"), "not valid JSON", line=line)


@pytest.mark.parametrize(
    ("text", "line"), [("[1, 2]", 1), ('{"reward": 1}\n[1]', 2), ('[{"reward": 1},\n 2]', 2), ("[1]\n[2]", 1)]
)
def test_json_that_has_no_rows_of_objects(text: str, line: int, file) -> None:
    refused(file(text, "x.json"), "an object with one row", line=line)


@pytest.mark.parametrize("text", ["[]", "{}", '{"reward": [], "group_id": []}'])
def test_json_without_rows(text: str, file) -> None:
    refused(file(text, "x.json"), "no rows")


def test_json_with_unknown_keys(file) -> None:
    refused(file({"choices": {"a": 1}, "model": "m"}, "x.json"), "saw choices, model")


def test_a_column_that_comes_late(file) -> None:
    row = {"group_id": "a", "reward": 1, "logp_new": [-1], "logp_old": [-1]}
    lines = [json.dumps(row)] * 3000 + [json.dumps({**row, "logp_ref": [-1]})]
    refused(file("\n".join(lines), "x.jsonl"), "column logp_ref: first appears here", line=3001)


# --- files that are something else


def test_no_file_or_no_plain_file(tmp_path: Path) -> None:
    refused(tmp_path / "none.csv", "no such file")
    refused(tmp_path / "none.csv" / "x", "no such file")
    refused(tmp_path, "is a directory")
    refused("a\0b", "no such file")
    refused("no\nsuch\u2028file\x1b[31m", "no such file")
    refused("x" * 5000, "cannot be opened")


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff", " \n", "sep=;\n", b"\xff\xfe"])
@pytest.mark.parametrize("name", ["x.csv", "x.json", "x.jsonl", "x.xlsx"])
def test_an_empty_file(content: object, name: str, file) -> None:
    refused(file(content, name), "empty")


@pytest.mark.parametrize("content", [HEADER, HEADER + "\n", HEADER + "\r\n\r\n", HEADER + "\n,,,,,\n"])
def test_a_header_alone(content: str, file) -> None:
    refused(file(content), "has no rows")


BINARY = {
    "PNG": b"\x89PNG\r\n\x1a\n" + bytes(100),
    "PDF": b"%PDF-1.7\n" + bytes(100),
    "Parquet": b"PAR1" + bytes(100),
    "XLS": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100),
    "pickle": b"\x80\x04\x95" + bytes(100),
    "NUL": b"group_id,reward\0\n",
    "gzip": gzip.compress(b"x"),
}


@pytest.mark.parametrize("kind", BINARY)
def test_binary_files(kind: str, file) -> None:
    content = gzip.compress(BINARY[kind]) if kind == "gzip" else BINARY[kind]
    refused(file(content, "x.csv"), "is not text but binary", kind)


def test_gzip_by_its_magic(file) -> None:
    for name in ("x.csv.gz", "x.csv", "x"):
        assert read(file(gzip.compress(GOOD.encode()), name)).token_count == 2
    assert read(file(gzip.compress(GOOD.encode()[:30]) + gzip.compress(GOOD.encode()[30:]), "x.gz")).token_count == 2


def test_gzip_that_is_broken(file) -> None:
    whole = gzip.compress(GOOD.encode() * 1000)
    for content in (
        whole[:-20],
        whole[:200],
        whole[:40] + b"xxxx" + whole[44:],
        b"\x1f\x8b",
        b"\x1f\x8bxxxxxxxxxxxxxx",
    ):
        refused(file(content, "x.csv.gz"), "broken or cut short")


@pytest.mark.parametrize("row", ["a,1,1,-1,-1.5,1\n", "x"])
def test_a_gzip_bomb(row: str, file) -> None:
    path = file(gzip.compress(GOOD.encode() + (row * (2_000_000 // len(row))).encode() * 40), "x.gz")
    assert path.stat().st_size < 2_000_000
    refused(path, "unpacks to more than is safe")


def test_the_cap_on_gzip(file, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "LARGEST_UNPACKED", 50)
    refused(file(gzip.compress(GOOD.encode()), "x.gz"), "unpacks to more than is safe")


def test_a_log_of_steps(file) -> None:
    for header in (
        "step,loss,reward_mean,kl",
        "epoch,train/loss,learning_rate",
        "step,reward",
        "global_step,loss,grad_norm,reward,reward_std,kl,entropy",
        "_step,loss",
    ):
        path = file(f"{header}\n" + ",".join("1" * (header.count(",") + 1)) + "\n")
        refused(path, "training steps", header.split(",")[0], "a row a token", line=1)
    history = [{"loss": 0.1, "kl": 0.2, "reward": 0.3, "step": 1}] * 3
    refused(file({"log_history": history, "global_step": 3}, "trainer_state.json"), "training steps")
    refused(file("\n".join(map(json.dumps, history)), "x.jsonl"), "training steps")


def test_columns_that_mean_nothing(file) -> None:
    refused(file("colour,size\nred,1\n"), "no column is known: saw colour, size", "--map logp_new=COLUMN", line=1)
    refused(file("just some text\nand more\n"), "no column is known", line=1)


def test_a_dump_without_log_probs(file) -> None:
    table = read(file("prompt,completion,reward,group_id\np,c,1,a\np,c,0,a\n"))
    assert (table.completion_count, table.token_count) == (2, 0)
    assert table.completions["reward"].tolist() == [1.0, 0.0]
    assert "read.no_logps" in [note.key for note in table.notes]
    assert "note.empty_completions" not in [note.key for note in table.notes]
    found = [{"uid": "a", "score": 1, "output": "text"}, {"uid": "a", "score": 0, "output": "text"}]
    assert read(file("\n".join(map(json.dumps, found)), "x.jsonl")).completions["reward"].tolist() == [1.0, 0.0]


def test_a_dump_with_the_samplers_log_probs_only(file) -> None:
    table = read(file([{"group_id": "a", "reward": 1, "rollout_log_probs": [-1, -2]}], "x.json"))
    assert table.tokens["logp_sampler"].tolist() == [-1.0, -2.0]
    assert [note.key for note in table.notes] == ["read.no_new"]


# --- workbooks


def book(path: Path, *content: list[object]) -> Path:
    made = openpyxl.Workbook()
    for row in content:
        made.active.append(row)  # type: ignore[union-attr]
    made.save(path)
    return path


def test_a_workbook_cell(tmp_path: Path) -> None:
    head = HEADER.split(",")
    path = book(tmp_path / "x.xlsx", head, ["a", 1, 1, -1, -1.5, 1], [], ["a", 2, 0, "1,5", -1, 1])
    refused(path, "column logp_new", "1,5", line=4)
    refused(book(path, head, ["a", 1, 1, "#N/A", -1, 1]), "column logp_new", "#N/A", line=2)
    refused(book(path, head, ["a", 1, 1, None, -1, 1]), "column logp_new", "is empty", line=2)
    refused(book(path, head, ["a", 1, 1, True, -1, 1]), "column logp_new", "true", line=2)
    refused(book(path, head, ["a", 1, 1, -1, -1, 1, 7]), "has 7 cells", line=2)
    refused(book(path, head), "has no rows")
    refused(book(path), "is empty")
    refused(book(path, ["reward", "reward"], [1, 1]), "columns 1 and 2 are both named reward", line=1)
    assert read(book(path, head, [7, "007", 1, -1, -1, True])).group_id == ("7",)


def test_a_sheet_by_its_name(tmp_path: Path, file) -> None:
    path = book(tmp_path / "x.xlsx", HEADER.split(","), ["a", 1, 1, -1, -1.5, 1])
    refused(path, "has no sheet Nope; it has: Sheet", sheet="Nope")
    refused(file(GOOD), "is not a workbook", sheet="Sheet")


def test_a_workbook_that_is_none(tmp_path: Path, file) -> None:
    path = tmp_path / "x.xlsx"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("hello.txt", "x")
    refused(path, "is not text but binary (ZIP)")
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("xl/workbook.xml", "<not")
    refused(path, "cannot be read as a workbook")
    refused(file(b"PK\x03\x04" + bytes(100), "x.xlsx"), "broken zip")
    whole = book(path, HEADER.split(","), ["a", 1, 1, -1, -1.5, 1]).read_bytes()
    refused(file(whole[: len(whole) // 2], "y.xlsx"), "broken zip")


def test_bounds_of_workbooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = book(tmp_path / "x.xlsx", HEADER.split(","), ["a", 1, 1, -1, -1.5, 1])
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as made:
        made.writestr("xl/worksheets/sheet9.xml", bytes(30 << 20))
    refused(path, "more than is safe")
    path = book(tmp_path / "y.xlsx", HEADER.split(","), ["a", 1, 1, -1, -1.5, 1])
    with zipfile.ZipFile(path, "a") as made:
        made.writestr("xl/evil.xml", '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>')
    refused(path, "cannot be read as a workbook")
    monkeypatch.setattr(workbook, "MOST_PARTS", 3)
    refused(book(path, ["a"]), "too many parts")
