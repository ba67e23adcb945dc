"""Random input: the quick way and the careful way agree, and nothing is raised but a problem."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from grpo_calc.read import delimited, read
from grpo_calc.read.faults import Fault
from grpo_calc.read.numbers import number
from grpo_calc.read.split import split
from grpo_calc.read.words import PADDING, changes, decimals
from grpo_calc.say import LANGUAGES, Problem
from grpo_calc.table import Table

QUIET = settings(deadline=2000, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
HEADER = "group_id,completion_id,token_index,token,reward,logp_new,logp_old,mask"
DECIMAL = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(-30, 0).map(repr),
    st.decimals(allow_nan=False, allow_infinity=False, places=4).map(str),
    st.from_regex(r"[+-]?[0-9]{0,20}\.?[0-9]{0,22}([eE][+-]?[0-9]{1,3})?", fullmatch=True),
)


def cells(found: list[str]) -> tuple[bytes, np.ndarray, np.ndarray]:
    lengths = np.array([len(cell.encode()) for cell in found], dtype=np.int64)
    end = np.cumsum(lengths + 1) - 1
    return (",".join(found) + ",").encode() + bytes(PADDING), end - lengths, end


@settings(deadline=None, max_examples=200)
@given(st.lists(DECIMAL, min_size=1, max_size=30))
@example(
    [
        "9007199254740993",
        "0.1",
        "-2.5073068765732702",
        "1e-05",
        "-1.1920929e-07",
        "00000000.5",
        "123456789.5",
        "-0",
        ".",
        "",
        "18446744073709551616",
    ]
)
def test_quick_decimals_are_rounded_as_python_rounds_them(found: list[str]) -> None:
    body, start, end = cells(found)
    values, odd = decimals(np.frombuffer(body, np.uint8), start, end)
    for text, value, left in zip(found, values.tolist(), odd.tolist(), strict=True):
        if not left:
            assert isinstance(number(text), float)
            assert value == float(text)
            assert math.copysign(1, value) == math.copysign(1, float(text))


@settings(deadline=None, max_examples=200)
@given(st.lists(st.one_of(DECIMAL, st.text(max_size=24).filter(lambda text: "," not in text)), min_size=1, max_size=30))
def test_what_the_careful_reader_refuses_is_odd_to_the_quick_one(found: list[str]) -> None:
    body, start, end = cells([text.encode("utf-8", "replace").decode() for text in found])
    odd = decimals(np.frombuffer(body, np.uint8), start, end)[1]
    for text, left in zip(found, odd.tolist(), strict=True):
        if isinstance(number(text), Fault):
            assert left


def test_plain_decimals_are_not_odd() -> None:
    random = np.random.default_rng(0)
    found = [repr(float(value)) for value in -random.exponential(1.0, 5000)] + [
        f"{value:.5f}" for value in -random.exponential(1.0, 5000)
    ]
    body, start, end = cells(found)
    values, odd = decimals(np.frombuffer(body, np.uint8), start, end)
    if np.finfo(np.longdouble).nmant >= 63:  # elsewhere the seventeen-digit ones are left to Python
        assert odd.mean() < 0.01
    assert values[~odd].tolist() == [float(text) for text, left in zip(found, odd, strict=True) if not left]


@given(
    st.lists(
        st.sampled_from(
            ["a", "b", "aaaaaaaa", "aaaaaaab", "aaaaaaaaa", "aaaaaaaac", "", "7", "07", "7" * 30, "7" * 29 + "8"]
        ),
        max_size=30,
    )
)
def test_changes(found: list[str]) -> None:
    body, start, end = cells(found)
    expected = [place == 0 or found[place] != found[place - 1] for place in range(len(found))]
    assert changes(np.frombuffer(body, np.uint8), start, end).tolist() == expected


TEXT = st.text(st.sampled_from('ab,;"\n\r\t é组1.-\u2028'), max_size=6)
CELL = st.one_of(TEXT, st.sampled_from(["1", "-0.5", "", "a", "0", '"', '""', '"x"', '",', "nan", "-inf", "\n"]))
ROW = st.tuples(
    st.sampled_from(["a", "b", '"a"', "a"]),
    st.sampled_from(["1", "2", '"1"']),
    st.sampled_from(["0", "1", "2", "3", "7"]),
    st.sampled_from(["x", '"', '","', '"\n"', '""""', '"a\r\nb"', "", "é", "[", " "]),
    st.sampled_from(["1", "1", "1.0", ""]),
    st.sampled_from(["-0.5", "-1", "-1.25e-05", "", '"-3"', "-inf", "x", " -2 "]),
    st.sampled_from(["-0.25", "-7.123456789012345"]),
    st.sampled_from(["1", "1", "0", "true"]),
).map(list)
END = st.sampled_from(["\n", "\n", "\r\n", "\n\n", "\r", "\n,,,,,,,\n"])


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A file that is mostly right."""
    rows = draw(st.lists(ROW, max_size=12))
    for _ in range(draw(st.integers(0, 2))):
        if rows:
            row = draw(st.sampled_from(rows))
            row[draw(st.integers(0, len(row) - 1))] = draw(CELL)
    return HEADER + "".join(draw(END) + ",".join(row) for row in rows) + draw(st.sampled_from(["", "\n", "\r\n"]))


def outcome(path: Path) -> object:
    try:
        return summary(read(path))
    except Problem as problem:
        return str(problem)


def summary(table: Table) -> object:
    whole = table.masked or table
    return (
        {name: np.nan_to_num(column).tolist() for name, column in whole.tokens.items()},
        {name: np.nan_to_num(column).tolist() for name, column in whole.completions.items()},
        *(part.tolist() for part in (whole.token_offsets, whole.group_offsets, whole.row)),
        (whole.completion_id, whole.group_id),
        {name: list(column) for name, column in whole.texts.items()},
        [str(note) for note in table.notes],
    )


@QUIET
@given(documents())
def test_both_ways_give_the_same_table_or_the_same_problem(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(text.encode("utf-8"))
    quick = outcome(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "split", lambda *_: None)
        careful = outcome(path)
        patch.undo()
        patch.setattr(delimited, "CHUNK", 7)
        small = outcome(path)
    assert quick == careful
    if isinstance(quick, str):  # of several faults, the one in the first chunk is told
        assert isinstance(small, str)
    else:
        assert quick == small


@given(st.text(st.sampled_from('a1,;"\n\r\té-.'), max_size=60).map(str.encode), st.sampled_from([b"", b"\n", b"a,1\n"]))
def test_the_quick_split_never_fails(body: bytes, end: bytes) -> None:
    chunk = split(body + end, ",", ("id", "x"), 1)
    if chunk is not None:
        assert len(chunk.numbers("id", ".")[0]) == chunk.count


def no_surprise(path: Path) -> None:
    """Reading ends in a table or in a problem of one line in each language."""
    found: Problem | None = None
    try:
        read(path)
    except Problem as problem:
        found = problem
    for lang in LANGUAGES if found else ():
        assert found is not None
        assert len(found.text(lang).splitlines()) == 1


MAGIC = st.sampled_from(
    [
        b"",
        b"\x1f\x8b\x08",
        b"PK\x03\x04",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"{",
        b"[",
        b"sep=",
        HEADER.encode() + b"\n",
        b'{"reward": 1}\n',
    ]
)


@QUIET
@given(MAGIC, st.binary(max_size=200))
def test_random_bytes(tmp_path: Path, magic: bytes, rest: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(magic + rest)
    no_surprise(path)


@QUIET
@given(
    documents(),
    st.lists(st.tuples(st.integers(0, 400), st.binary(max_size=3)), max_size=4),
    st.sampled_from(["utf-8", "utf-16", "gzip"]),
)
def test_mutated_files(tmp_path: Path, text: str, changed: list[tuple[int, bytes]], form: str) -> None:
    body = bytearray(gzip.compress(text.encode()) if form == "gzip" else text.encode(form))
    for place, piece in changed:
        body[place % (len(body) + 1) : place % (len(body) + 1) + 1] = piece
    path = tmp_path / "x"
    path.write_bytes(body)
    no_surprise(path)


NAMES = st.sampled_from(
    [
        *(
            "group_id",
            "completion_id",
            "token_index",
            "reward",
            "logp_new",
            "logp_old",
            "prob_ref",
            "mask",
            "advantage",
        ),
        *("token", "token_id", "entropy", "truncated", "reward_a", "x1", "y1", "action", "log_probs", "id"),
        *("tokens", "completions", "recipe", "log_history"),
    ]
)
LEAF = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10**400),
    st.floats(),
    st.text(max_size=3),
    st.sampled_from(["a", "1", "[1]", -1, 0, 1]),
)
VALUE = st.recursive(
    LEAF, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)), max_leaves=8
)
OBJECT = st.dictionaries(NAMES, VALUE, max_size=8)


def any_json() -> st.SearchStrategy[str]:
    rows = st.lists(OBJECT, max_size=4)
    return st.one_of(
        rows.map(json.dumps),
        st.builds(lambda value: json.dumps(value, indent=1), st.one_of(OBJECT, VALUE)),
        rows.map(lambda found: "\n".join(map(json.dumps, found))),
    )


@QUIET
@given(
    any_json(),
    st.integers(0, 500),
    st.sampled_from(["", "", '"', "}", ",", "\ud800".encode("utf-8", "surrogatepass").decode("latin-1")]),
)
def test_random_json(tmp_path: Path, text: str, place: int, piece: str) -> None:
    if piece:
        text = text[: place % (len(text) + 1)] + piece + text[place % (len(text) + 1) + 1 :]
    path = tmp_path / "x.json"
    path.write_bytes(text.encode("utf-8"))
    no_surprise(path)


def _columns(draw: st.DrawFn) -> Iterator[tuple[str, str]]:
    for name in draw(st.lists(NAMES, unique=True, min_size=1, max_size=6)):
        yield name, draw(CELL)


@st.composite
def odd_columns(draw: st.DrawFn) -> str:
    """Any columns with any cells."""
    found = list(_columns(draw))
    delimiter = draw(st.sampled_from(",;\t|"))
    quoted = ['"' + cell.replace('"', '""') + '"' if draw(st.booleans()) else cell for _, cell in found]
    return delimiter.join(name for name, _ in found) + "\n" + (delimiter.join(quoted) + "\n") * draw(st.integers(1, 3))


@QUIET
@given(odd_columns())
def test_odd_columns(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(text.encode("utf-8"))
    no_surprise(path)
