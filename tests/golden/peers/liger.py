"""Liger-Kernel: harness options are the loss function's own arguments; ``vllm`` hands over a truncated token weight."""

from __future__ import annotations

from collections.abc import Mapping

from grpo_calc.trainers import recipe
from grpo_calc.work import Worked
from tests.golden.case import Case, Golden, Reading, check, padded_table

OUTPUTS: Mapping[str, Reading] = {"per_token_loss": "token_loss"}


def case(golden: Golden) -> Case:
    """The case of a Liger golden."""
    check(golden, "liger-kernel")
    options = dict(golden["options"])
    if options.pop("vllm", False):
        options["vllm_is_ratio"] = "token_truncate"
    made = recipe("liger", golden["version"], **options)
    if not golden["inputs"].get("old_logps"):
        made = made.change(old="new")
    return Case(padded_table(golden["inputs"]), made, OUTPUTS, metrics={"list": _list})


def _list(worked: Worked) -> list[float]:
    """What the function returns beside the loss, in its order."""
    return list(worked.metrics("liger").values())
