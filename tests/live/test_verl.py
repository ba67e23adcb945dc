"""verl's own policy losses, ``core_algos`` alone, beside the preset ``verl``."""

from typing import Any

import pytest

from grpo_calc.trainers import recipe
from tests.live.batch import Tensors, agrees, installed

pytestmark = [pytest.mark.live, pytest.mark.filterwarnings("ignore")]  # the trainers' own imports warn

MODES = ("vanilla", "gspo", "geo_mean", "sapo", "cispo", "gpg", "dppo_tv", "dppo_kl")
AGGREGATIONS = ("token-mean", "seq-mean-token-sum", "seq-mean-token-mean")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("seed", range(3))
def test_loss_and_gradient(mode: str, aggregation: str, seed: int) -> None:
    at = installed("verl", "verl")
    core = pytest.importorskip("verl.trainer.ppo.core_algos", exc_type=ImportError)
    from verl.workers.config import ActorConfig, PolicyLossConfig

    options = {"clip_ratio_low": 0.2, "clip_ratio_high": 0.28, "loss_agg_mode": aggregation}
    config = ActorConfig(
        strategy="fsdp",
        rollout_n=1,
        ppo_micro_batch_size_per_gpu=1,
        policy_loss=PolicyLossConfig(loss_mode=mode),
        **options,
    )

    def loss(x: Tensors) -> Any:
        advantages = x["advantage"][:, None] * x["mask"]
        return core.get_policy_loss_fn(mode)(x["old"], x["new"], advantages, x["mask"], aggregation, config)[0]

    agrees(recipe("verl", at, loss_mode=mode, **options), loss, seed)
