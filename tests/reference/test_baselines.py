"""Policy gradients, other advantages: OPO (2505.23585), pass@k (2503.19595), GPG (2504.02546), MaxRL (2602.02710)."""

from tests.reference.loops import Batch, answers, mean, reference


def sequence_gradient(batch: Batch, advantages: list[float]) -> float:
    """Minus the mean over answers of A log pi(answer)."""
    return -mean([a * sum(one.new) for a, one in zip(advantages, answers(batch), strict=True)])


@reference("opo")
def opo(batch: Batch) -> float:
    """R less the mean reward of the group, each answer weighing as its length."""
    found = []
    for group in batch:
        lengths = [len(answer.new) for answer in group]
        baseline = sum(n * answer.reward for n, answer in zip(lengths, group, strict=True)) / sum(lengths)
        found += [answer.reward - baseline for answer in group]
    return sequence_gradient(batch, found)


@reference("pass@k")
def pass_at_k(batch: Batch) -> float:
    """The best of the group less the best of the others: 0 for all but the best, and where there are no others."""
    found = []
    for group in batch:
        for i, answer in enumerate(group):
            others = [other.reward for j, other in enumerate(group) if j != i] or [answer.reward]
            found.append(max(answer.reward, *others) - max(others))
    return sequence_gradient(batch, found)


@reference("maxrl")
def maxrl(batch: Batch) -> float:
    """R less the group's mean, over that mean; 0 where no answer has a reward."""
    found = []
    for group in batch:
        m = mean([answer.reward for answer in group])
        found += [(answer.reward - m) / m if m else 0.0 for answer in group]
    return sequence_gradient(batch, found)


@reference("gpg")
def gpg(batch: Batch) -> float:
    """R less the group's mean, times B over the answers of groups whose rewards differ; the mean is over tokens."""
    moving = sum(len(group) for group in batch if len({answer.reward for answer in group}) > 1)
    alpha = len(answers(batch)) / moving
    pairs = [(one, alpha * (one.reward - mean([o.reward for o in group]))) for group in batch for one in group]
    return -mean([a * new for one, a in pairs for new in one.new])
