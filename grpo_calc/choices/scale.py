"""What a centred advantage is divided by: a standard deviation, and how a small number keeps it from 0."""

from __future__ import annotations

from collections.abc import Mapping

from grpo_calc.bind import Bindings, Use

Choices = Mapping[str, Bindings]

SCALE: Choices = {
    "none": {"advantage": Use("centred_advantage")},
    "group_std": {"advantage": Use("scaled_advantage")},
    "leave_one_out_std": {"advantage": Use("scaled_advantage"), "scale_std": "leave_one_out_std"},
    "batch_std": {"advantage": Use("scaled_advantage"), "scale_std": "batch_std"},
    "centred_batch_std": {
        "advantage": Use("scaled_advantage"),
        "centred_advantage": Use("centred_advantage"),
        "scale_std": Use("batch_std", reward="centred_advantage"),
    },
    "group_mean": {"advantage": Use("scaled_advantage"), "scale_std": "group_mean"},
}
STD_EPS: Choices = {
    "add_if_any": {"scale": Use("std_plus_eps_if_any", group_std="scale_std")},
    "add": {"scale": Use("std_plus_eps", group_std="scale_std")},
    "at_least": {"scale": Use("std_at_least_eps", group_std="scale_std")},
    "inside_root": {"scale": Use("root_of_variance_plus_eps", group_std="scale_std")},
}
