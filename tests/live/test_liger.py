"""Liger's own loss, in plain torch, beside the preset ``liger``."""

from typing import Any

import pytest

from grpo_calc.trainers import recipe
from tests.live.batch import Tensors, agrees, installed

pytestmark = [pytest.mark.live, pytest.mark.filterwarnings("ignore")]  # the trainers' own imports warn

CASES: list[dict[str, Any]] = [
    {"loss_type": loss, **more}
    for loss in ("grpo", "bnpo", "dapo", "cispo", "sapo", "vespo")
    for more in ({}, {"beta": 0.0})
]
CASES += [
    {"loss_type": "dr_grpo", "max_completion_length": 9},
    {"loss_type": "dapo", "delta": 1.4},
    {"loss_type": "grpo", "importance_sampling_level": "sequence"},
    {"loss_type": "dapo", "use_bias_correction_kl": True},
]


@pytest.mark.parametrize("options", CASES, ids=lambda options: "-".join(map(str, options.values())))
@pytest.mark.parametrize("seed", range(3))
def test_loss_and_gradient(options: dict[str, Any], seed: int) -> None:
    at = installed("liger-kernel", "liger")
    from liger_kernel.chunked_loss.grpo_loss import LigerFusedLinearGRPOFunction

    def loss(x: Tensors) -> Any:
        given = {"per_token_logps": x["new"], "old_per_token_logps": x["old"], "ref_per_token_logps": x["ref"]}
        masks = {"attention_mask": x["mask"], "full_attention_mask": x["mask"]}
        return LigerFusedLinearGRPOFunction.ppo_loss_fn(**given, **masks, advantages=x["advantage"], **options)[0]

    agrees(recipe("liger", at, **options), loss, seed)
