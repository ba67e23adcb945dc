"""OpenRLHF's own policy loss beside the preset ``openrlhf``: its file alone, without what the package imports."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from grpo_calc.trainers import recipe
from tests.live.batch import Tensors, agrees, installed

pytestmark = [pytest.mark.live, pytest.mark.filterwarnings("ignore")]  # the trainers' own imports warn


@pytest.fixture
def loss_file(monkeypatch: pytest.MonkeyPatch) -> Any:
    """``openrlhf/models/loss.py``, in a package that is empty but for its neighbour ``utils``; no deepspeed."""
    found = importlib.util.find_spec("openrlhf")
    assert found
    assert found.submodule_search_locations
    folder = Path(found.submodule_search_locations[0]) / "models"
    package = ModuleType("openrlhf_models")
    package.__path__ = [str(folder)]
    monkeypatch.setitem(sys.modules, "openrlhf_models", package)
    monkeypatch.setitem(sys.modules, "deepspeed", ModuleType("deepspeed"))
    yield importlib.import_module("openrlhf_models.loss")
    for name in ("openrlhf_models.loss", "openrlhf_models.utils"):
        sys.modules.pop(name, None)


@pytest.fixture
def at() -> str:
    """The installed version."""
    return installed("openrlhf", "openrlhf")


CASES = [
    ({}, {}),
    ({"dual_clip": 1.15}, {"actor.dual_clip": 1.15}),
    ({"policy_loss_type": "gspo"}, {"actor.policy_loss_type": "gspo"}),
]


@pytest.mark.parametrize(("theirs", "ours"), CASES, ids=["ppo", "dual_clip", "gspo"])
@pytest.mark.parametrize("seed", range(3))
def test_loss_and_gradient(at: str, loss_file: Any, theirs: dict[str, Any], ours: dict[str, Any], seed: int) -> None:
    function = loss_file.PolicyLoss(0.2, 0.28, **theirs)

    def loss(x: Tensors) -> Any:
        mask = x["mask"].to(x["new"].dtype)  # 1e-8 beside a count is in the preset
        return function(x["new"], x["old"], x["advantage"][:, None].expand_as(x["new"]), mask)[0]

    made = recipe("openrlhf", at, **{"actor.eps_clip_low_high": [0.2, 0.28], "algo.kl.init_coef": 0, **ours})
    agrees(made, loss, seed)
