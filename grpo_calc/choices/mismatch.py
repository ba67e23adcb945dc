"""How far the trainer's log-probs are from the sampling engine's: figures of the batch, asked for by name."""

from __future__ import annotations

from grpo_calc.bind import Bindings, Use


def _token_mean(name: str, x: str) -> Bindings:
    """The mean of a column over all tokens."""
    return {f"completion_{name}": Use("sum_within", x=x), name: Use("tokens_across", x=f"completion_{name}")}


MISMATCH: Bindings = {
    "mismatch_size": Use("k1_absolute", k1="log_mismatch"),
    **_token_mean("mismatch_mean_size", "mismatch_size"),
    "completion_mismatch_largest": Use("max_within", x="mismatch_size"),
    "mismatch_largest": Use("max_across", x="completion_mismatch_largest"),
    # NeMo-RL, token_mult_prob_error
    "mismatch_factor": Use("mismatch", x="mismatch_size"),
    **_token_mean("mismatch_mean_factor", "mismatch_factor"),
    # The KL of sampler from trained policy, k3 of the sampler's tokens: TRL and NeMo-RL, gen_kl_error
    **_token_mean("mismatch_mean_k3", "mismatch_k3"),
}
