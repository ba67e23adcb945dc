"""TRL's own ``GRPOTrainer._compute_loss`` beside the preset ``trl``: the method alone, read from the installed file.

The trainer itself wants a model, a tokenizer and an accelerator; its loss wants a handful of attributes. Nothing of TRL
is imported, so transformers need not be there (``pip install --no-deps trl``).
"""

import ast
import importlib.util
import math
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import MethodType, SimpleNamespace
from typing import Any

import pytest

from grpo_calc.trainers import recipe
from tests.live.batch import Tensors, agrees, installed

pytestmark = pytest.mark.live

HELPERS = ("get_high_entropy_mask", "get_off_policy_mask", "get_gamma_weights", "get_sapo_token_loss")
OPTIONS = {
    "loss_type": "dapo",
    "epsilon": 0.2,
    "epsilon_high": None,
    "delta": None,
    "beta": 0.0,
    "importance_sampling_level": "token",
    "use_bias_correction_kl": True,
    "max_completion_length": 8,
}


@pytest.fixture
def at() -> str:
    """The installed version."""
    return installed("trl", "trl")


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    """Numbers that the trainer writes into tensors (SAPO's temperatures) are double too."""
    torch = pytest.importorskip("torch")
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def functions(names: tuple[str, ...]) -> dict[str, Any]:
    """Functions and methods of the installed trainer's file by name, without decorators and annotations."""
    import torch

    found = importlib.util.find_spec("trl")
    assert found
    assert found.submodule_search_locations
    file = Path(found.submodule_search_locations[0]) / "trainer" / "grpo_trainer.py"
    held: dict[str, Any] = {"torch": torch, "math": math, "nanmin": torch.min, "nanmax": torch.max}
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name in names:
            node.decorator_list, node.returns = [], None
            for argument in (*node.args.args, *node.args.kwonlyargs):
                argument.annotation = None
            exec(compile(ast.unparse(node), str(file), "exec"), held)
    return held


def own_loss(options: dict[str, Any], x: Tensors) -> Any:
    """The trainer's loss of a batch, with a stand-in for the trainer."""
    import torch

    held = functions(("_compute_loss", *HELPERS))
    alone = {name: lambda value, *_, **__: value for name in ("gather", "gather_for_metrics", "reduce")}
    trainer = SimpleNamespace(
        **{key: value for key, value in options.items() if key != "delta"},
        accelerator=SimpleNamespace(num_processes=1, **alone),
        model=SimpleNamespace(training=True),
        control=SimpleNamespace(should_evaluate=False),
        args=SimpleNamespace(
            **options, steps_per_generation=1, gradient_accumulation_steps=1,
            sapo_temperature_pos=1.0, sapo_temperature_neg=1.05,
            vespo_k_pos=2.0, vespo_lambda_pos=3.0, vespo_k_neg=3.0, vespo_lambda_neg=2.0,
        ),
        epsilon_low=options["epsilon"],
        top_entropy_quantile=1.0,
        off_policy_mask_threshold=None,
        use_vllm=False,
        vllm_importance_sampling_correction=False,
        current_gradient_accumulation_steps=1,
        entropy_coef=0.0,
        _entropy_bonus_enabled=False,
        use_adaptive_entropy=False,
        aux_loss_enabled=False,
        tools=None,
        use_liger_loss=False,
        num_iterations=1,
        _metrics={"train": defaultdict(list), "eval": defaultdict(list)},
    )  # fmt: skip
    trainer.epsilon_high = options["epsilon"] if options["epsilon_high"] is None else options["epsilon_high"]
    trainer._get_per_token_logps_and_entropies = lambda *_, **__: (x["new"], torch.zeros_like(x["new"]), None)
    for name in HELPERS:
        if name in held:
            first = held[name].__code__.co_varnames[:1]
            setattr(trainer, name, MethodType(held[name], trainer) if first == ("self",) else held[name])
    mask = x["mask"].to(torch.int64)
    batch = {
        "prompt_ids": torch.zeros(len(mask), 1),
        "prompt_mask": torch.zeros(len(mask), 1),
        "completion_ids": torch.zeros(mask.shape),
        "completion_mask": mask,
        "advantages": x["advantage"],
        "old_per_token_logps": x["old"],
        "ref_per_token_logps": x["ref"],
        "num_items_in_batch": mask.sum(),
    }
    return held["_compute_loss"](trainer, None, batch)


CASES: list[dict[str, Any]] = [
    {"loss_type": "grpo", "beta": 0.04},
    {"loss_type": "dapo", "epsilon_high": 0.28},
    {"loss_type": "bnpo", "delta": 1.5},
    {"loss_type": "dr_grpo", "beta": 0.04, "use_bias_correction_kl": False},
    {"loss_type": "cispo", "epsilon_high": 2.0},
    {"loss_type": "sapo"},
    {"loss_type": "grpo", "importance_sampling_level": "sequence", "epsilon": 0.05, "beta": 0.02},
]


@pytest.mark.parametrize("changed", CASES, ids=lambda case: "-".join(map(str, case.values())))
@pytest.mark.parametrize("seed", range(3))
def test_loss_and_gradient(at: str, changed: dict[str, Any], seed: int) -> None:
    options = {**OPTIONS, **changed}
    agrees(recipe("trl", at, **options), lambda x: own_loss(options, x), seed)
