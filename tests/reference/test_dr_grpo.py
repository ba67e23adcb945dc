"""Dr. GRPO, arXiv:2503.20783, sec. 3.2: A = R - mean, no std; token sums over a constant length, not over their own."""

from tests.reference.loops import Batch, clip, mean, reference

LENGTH, EPS = 9, 0.2


@reference("dr-grpo", max_length=LENGTH)
def dr_grpo(batch: Batch) -> float:
    completions = []
    for group in batch:
        for answer in group:
            a = answer.reward - mean([other.reward for other in group])
            completions.append(sum(min(r * a, clip(r, 1 - EPS, 1 + EPS) * a) for r in answer.ratios) / LENGTH)
    return -mean(completions)
