"""Log-probabilities from logits: what a file of logit vectors and a lesson made of them both need."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def log_softmax_at(logits: NDArray[np.float64], chosen: NDArray[np.int64]) -> NDArray[np.float64]:
    """The log-probability of one component of each row of logits; ``chosen`` counts from 0.

    >>> log_softmax_at(np.zeros((1, 2)), np.array([0])) == -np.log(2.0)
    array([ True])
    """
    largest = logits.max(axis=1)
    total = np.exp(logits - largest[:, None]).sum(axis=1)
    logp: NDArray[np.float64] = logits[np.arange(len(chosen)), chosen] - (largest + np.log(total))
    return logp
