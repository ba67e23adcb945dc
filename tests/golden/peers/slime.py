"""slime: the harness has words of its own for the estimator, the KL and the corrections."""

from __future__ import annotations

from typing import Any

from grpo_calc.trainers import recipe
from tests.golden.case import Case, Golden, check, padded_table
from tests.golden.peers.layout import flat

OUTPUTS = {"per_token_loss_flat": flat("weighted_objective", -1.0), "per_token_kl_flat": flat("token_kl")}
SAME = (
    "eps_clip",
    "eps_clip_high",
    "eps_clip_c",
    "use_tis",
    "tis_clip",
    "tis_clip_low",
    "use_opsm",
    "grpo_std_normalization",
    "calculate_per_token_loss",
)


def case(golden: Golden) -> Case:
    """The case of a slime golden."""
    check(golden, "slime")
    options = golden["options"]
    given: dict[str, Any] = {key: options[key] for key in SAME if key in options}
    kl, tis, opsm = (options.get(key) for key in ("kl", "tis", "opsm"))
    if kl:
        given |= {
            "use_kl_loss": True,
            "kl_loss_type": kl.get("type", "low_var_kl"),
            "kl_loss_coef": kl.get("coef", 0.0),
        }
        given["use_unbiased_kl"] = options.get("unbiased_kl", False)
    if tis:
        tis = tis if isinstance(tis, dict) else {}
        given |= {"use_tis": True, "tis_clip": tis.get("clip", 2.0), "tis_clip_low": tis.get("clip_low", 0.0)}
        given["custom_tis_function_path"] = "icepop_function" if tis.get("mode") == "icepop" else None
    if opsm or options.get("opsm_delta") is not None:
        given |= {
            "use_opsm": True,
            "opsm_delta": opsm.get("delta", 1e-4) if isinstance(opsm, dict) else options.get("opsm_delta", 1e-4),
        }
    return Case(
        padded_table(golden["inputs"]),
        recipe("slime", advantage_estimator=options.get("mode", "grpo"), **given),
        OUTPUTS,
    )
