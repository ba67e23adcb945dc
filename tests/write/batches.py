"""Batches to write: one with everything in it, and one as strange as hypothesis can make."""

from hypothesis import strategies as st

from grpo_calc.table import Table

HOSTILE = [
    *(
        "",
        " ",
        " the",
        "a,b",
        'say "hi"',
        "two\nlines",
        "\r",
        "\r\n",
        "tab\there",
        "'",
        "|",
        "\\",
        "`",
        "=1+1",
        "-1",
        "@x",
    ),
    *(
        "#N/A",
        "NULL",
        "nan",
        "概率",
        "👩‍🚀",
        "e\u0301",
        "\x1b[31mred",
        "\x00",
        "\u202eabc",
        "\u2028",
        "[bold]x[/bold]",
        "<b>",
    ),
]

numbers = st.floats(-20, -1e-3, allow_nan=False)
texts = st.sampled_from(HOSTILE) | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def batch() -> Table:
    """Two groups of ragged completions, both clip sides, a masked token, and strange token texts."""
    return Table.from_arrays(
        group_id=["p", "p", "q", "q", "q"],
        completion_id=["007", "7", "a,b", 'q"', "e"],
        reward=[1.0, 0.0, 0.5, 0.25, 1.0],
        logp_new=[[-0.5, -1.0], [-2.0], [-0.1, -0.2, -0.3], [-1.0], [-0.7, -0.9]],
        logp_old=[[-0.9, -1.0], [-1.5], [-0.1, -0.4, -0.3], [-1.1], [-0.7, -0.8]],
        logp_ref=[[-0.6, -1.1], [-1.9], [-0.2, -0.2, -0.3], [-1.0], [-0.6, -0.9]],
        mask=[[1, 0], [1], [1, 1, 1], [1], [1, 1]],
        texts={"token": [["one", "two\n"], [" three"], ["a|b", "[red]", "\x1b[0m"], ["概率"], ["", "👩‍🚀"]]},
    )


@st.composite
def batches(draw: st.DrawFn) -> Table:
    """Any batch: ragged, some completions empty, some tokens masked, any text."""
    lengths = draw(st.lists(st.integers(0, 3), min_size=1, max_size=5).filter(any))

    def ragged(values: st.SearchStrategy[object]) -> list[list[object]]:
        return [[draw(values) for _ in range(length)] for length in lengths]

    mask = ragged(st.sampled_from([1, 1, 1, 0]))
    if not any(map(any, mask)):
        mask = [[1] * length for length in lengths]
    return Table.from_arrays(
        group_id=[draw(st.sampled_from(["p", "q", "r,s"])) for _ in lengths],
        completion_id=[f"{place:03d}" for place in range(len(lengths))],
        reward=[draw(st.floats(-5, 5, allow_nan=False)) for _ in lengths],
        mask=mask,
        texts={"token": ragged(texts)},
        **{name: ragged(numbers) for name in ("logp_new", "logp_old", "logp_ref")},
    )
