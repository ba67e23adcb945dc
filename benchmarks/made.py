"""Made-up batches of any size: groups of eight completions of 200 to 800 tokens, both clip sides, both signs."""

import numpy as np

GROUP = 8


def lengths(tokens: int) -> np.ndarray:
    """Completion lengths that add up to ``tokens``, whole groups."""
    rng = np.random.default_rng(1)
    groups = max(tokens // (GROUP * 500), 1)
    drawn = rng.integers(200, 800, groups * GROUP).astype(float)
    ends = np.round(np.cumsum(drawn) * tokens / drawn.sum()).astype(np.int64)
    return np.diff(ends, prepend=0)


def batch(tokens: int) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Token columns, completion lengths and rewards. Made in place, so that making leaves no memory behind."""
    rng = np.random.default_rng(2)
    new = rng.standard_exponential(tokens)
    np.negative(new, out=new)
    columns = {"logp_new": new}
    for name, width in (("logp_old", 0.1), ("logp_ref", 0.2)):
        column = rng.standard_normal(tokens)
        column *= width
        column += new
        np.minimum(column, 0.0, out=column)
        columns[name] = column
    sizes = lengths(tokens)
    return columns, sizes, rng.integers(0, 5, len(sizes)) / 4


def table(tokens: int) -> object:
    """The batch as a ``grpo_calc.Table``."""
    import grpo_calc as gc

    columns, sizes, rewards = batch(tokens)
    count = len(sizes)
    return gc.Table.assemble(
        tokens=columns,
        completions={"reward": rewards},
        lengths=sizes,
        group_id=[str(i // GROUP) for i in range(count)],
        completion_id=[str(i) for i in range(count)],
    )
