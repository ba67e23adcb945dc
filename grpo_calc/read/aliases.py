"""Column names: which names mean what, which mean different things to different trainers, and what the user says."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from grpo_calc.near import near
from grpo_calc.read.faults import shown
from grpo_calc.say import Note, Problem, note

_WORDS = {
    "group_id": "group group_ids uid group_index _ng_task_index problem_id prompt_id question_id",
    "completion_id": "completion_index response_id response_index rollout_index _ng_rollout_index sample_index "
    "sample_id",
    "token_index": "token_idx token_position token_pos position",
    "token_id": "token_ids completion_ids",
    "token": "tokens token_text token_str",
    "reward": "rewards score scores total_reward raw_reward",
    "advantage": "advantages adv",
    "logp_new": "per_token_logps trainer_logprobs curr_logprobs log_probs_new logprobs_new log_prob_new logprob_new "
    "new_logp new_logps new_logprobs new_log_probs",
    "logp_old": "old_per_token_logps old_log_probs prev_logprobs old_logprobs log_probs_old logprobs_old log_prob_old "
    "logprob_old old_logp old_logps old_log_prob",
    "logp_ref": "ref_per_token_logps ref_log_prob ref_log_probs base_action_log_probs ref_logprobs "
    "reference_policy_logprobs log_probs_ref logprobs_ref log_prob_ref logprob_ref ref_logp ref_logps",
    "logp_sampler": "logp_rollout sampling_per_token_logps rollout_log_probs generation_logprobs generation_log_probs "
    "inference_logprobs output_token_logprobs sampler_logp sampler_logprobs",
    "prob_new": "",
    "prob_old": "",
    "prob_ref": "",
    "prob_sampler": "",
    "mask": "completion_mask response_mask action_mask loss_mask loss_masks token_loss_mask sample_loss_mask tool_mask",
    "entropy": "entropies",
    "truncated": "",
    "seq_kl": "sequence_kl",
}
ALIASES: Mapping[str, tuple[str, ...]] = {name: tuple(words.split()) for name, words in _WORDS.items()}
"""The canonical names, and the other names under which trainers and users write the same."""

SHORT = {
    "group": "group_id",
    "completion": "completion_id",
    "new": "logp_new",
    "old": "logp_old",
    "ref": "logp_ref",
    "sampler": "logp_sampler",
}
"""What ``--map`` also takes for a canonical name."""

AMBIGUOUS_LOGPS = ("log_probs", "log_prob", "logprobs", "logprob", "logps", "logp", "action_log_probs")
AMBIGUOUS_IDS = ("prompt", "id", "index")

_NO_REWARD = (
    "mean|avg|std|min|max|sum|components?|model|fns?|functions?|types?|names?|source|info|details?|metadata|text"
)
_NAMED_REWARD = re.compile(rf"reward_(?!(?:{_NO_REWARD})$)\w+")
"""``reward_math`` is a reward of that name; ``reward_std`` a statistic and ``reward_model`` a description."""
_LOGIT = re.compile(r"[xy][1-9][0-9]*")
_MEANING = {alias: name for name, aliases in ALIASES.items() for alias in (name, *aliases)}

METRIC = re.compile(
    r"(?:.*/.*|(?:global_?|train_?)?steps?|epoch|iteration|loss|.*_loss|kl|.*_kl|approx_?kl|grad_?norm|learning_rate|lr|entropy|reward(?:s|_mean|_std|_min|_max)?|"
    r"mean_reward|reward|num_tokens|clip_?frac(?:tion)?|clip_ratio|completion_length|.*_length|.*_runtime|.*_per_second|time|runtime|timestamp|_step|_runtime|_timestamp)"
)
STEP = ("step", "steps", "_step", "global_step", "epoch", "iteration", "train_step")


def meaning(name: str) -> str | None:
    """The canonical name that a column's name means, or ``None``.

    >>> meaning(" Old_Log_Probs "), meaning("reward_math"), meaning("x3"), meaning("log_probs")
    ('logp_old', 'reward_math', None, None)
    """
    plain = name.strip().lower()
    return _MEANING.get(plain) or (plain if _NAMED_REWARD.fullmatch(plain) else None)


def known(name: str) -> bool:
    """Whether a column's name is one that files of tokens use.

    >>> known("reward"), known("x2"), known("log_probs"), known("colour")
    (True, True, True, False)
    """
    plain = name.strip().lower()
    return (
        meaning(plain) is not None
        or plain in (*AMBIGUOUS_LOGPS, *AMBIGUOUS_IDS, "action")
        or _LOGIT.fullmatch(plain) is not None
    )


@dataclass(frozen=True)
class Naming:
    """Which column of a file holds what: ``columns`` by canonical name; ``rest`` is what nobody claims.

    ``logits`` are the columns x1..xK and y1..yK with ``action``, if the file has them; ``told`` are the canonical names
    that the user chose a column for. Further masks go by ``mask@`` and their own names: all of them are multiplied.
    """

    columns: Mapping[str, str]
    rest: tuple[str, ...]
    logits: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    notes: tuple[Note, ...] = ()
    told: tuple[str, ...] = ()

    @property
    def masks(self) -> tuple[str, ...]:
        """The canonical names of the masks."""
        return tuple(name for name in self.columns if name == "mask" or name.startswith("mask@"))

    def has(self, *names: str) -> bool:
        """Whether any of these is there."""
        return any(name in self.columns for name in names)


def name_columns(header: Sequence[str], chosen: Mapping[str, str], source: str, line: int) -> Naming:
    """The naming of a header, with the user's own choices (``--map``) first.

    >>> name_columns(["uid", "reward", "log_probs"], {"new": "log_probs"}, "f", 1).columns
    {'logp_new': 'log_probs', 'group_id': 'uid', 'reward': 'reward'}

    Errors: an unknown key or column in the choices, two columns that mean the same, a column whose name means different
    things to different trainers where nothing else can stand for it.
    """
    columns = _chosen(header, chosen, source)
    told = tuple(columns)
    free = [name for name in header if name not in columns.values()]
    rest = []
    notes: list[Note] = []
    for name in free:
        meant = meaning(name)
        if meant is None:
            rest.append(name)
        elif meant == "mask" and "mask" in columns and "mask" not in told:
            columns[f"mask@{name}"] = name
        elif meant in columns and columns[meant] in free:
            raise Problem(
                "read.same_meaning",
                source=source,
                line=line,
                first=shown(columns[meant]),
                second=shown(name),
                meant=meant,
                option=_short(meant),
            )
        elif meant in columns:
            notes.append(note("read.unused", column=shown(name), option=_short(meant)))
        else:
            columns[meant] = name
    for which in ("new", "old", "ref", "sampler"):
        if f"logp_{which}" in columns and f"prob_{which}" in columns:
            first, second = columns[f"logp_{which}"], columns[f"prob_{which}"]
            raise Problem(
                "read.same_meaning",
                source=source,
                line=line,
                first=shown(first),
                second=shown(second),
                meant=f"logp_{which}",
                option=which,
            )
    logits, rest = _logits(columns, rest, source, line)
    _refuse_ambiguous(columns, rest, bool(logits[0]), source, line)
    notes += _asides(columns, rest)
    naming = Naming(columns, tuple(rest), logits, tuple(notes), told)
    if len(naming.masks) > 1:
        masks = ", ".join(shown(columns[name]) for name in naming.masks)
        naming = replace(naming, notes=(*notes, note("read.masks", columns=masks)))
    return naming


def _short(canonical: str) -> str:
    return next((short for short, name in SHORT.items() if name == canonical), canonical)


def _chosen(header: Sequence[str], chosen: Mapping[str, str], source: str) -> dict[str, str]:
    columns: dict[str, str] = {}
    for key, wanted in chosen.items():
        plain = key.strip().lower()
        canonical = SHORT.get(plain, plain)
        if canonical not in ALIASES and not _NAMED_REWARD.fullmatch(canonical):
            names = [*SHORT, *ALIASES]
            close = near(plain, names)
            if close is None:
                raise Problem("read.map_key", source=source, seen=shown(key), known=", ".join(names))
            raise Problem("read.map_key_near", source=source, seen=shown(key), close=close, known=", ".join(names))
        exact = [name for name in header if name == wanted.strip()]
        found = exact or [name for name in header if name.lower() == wanted.strip().lower()]
        if not found:
            raise Problem("read.map_column", source=source, option=shown(key), seen=shown(wanted), known=listed(header))
        columns[canonical] = found[0]
    return columns


def _logits(
    columns: dict[str, str], rest: list[str], source: str, line: int
) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], list[str]]:
    """The logit columns, where a file has them and no log-probs."""
    by_name = {name.strip().lower(): name for name in rest}
    x, y = (
        sorted((n for n in by_name if n[0] == letter and _LOGIT.fullmatch(n)), key=lambda n: int(n[1:]))
        for letter in "xy"
    )
    if (
        "action" not in by_name
        or not x
        or not y
        or any(f"{kind}_{which}" in columns for kind in ("logp", "prob") for which in ("new", "old"))
    ):
        return ((), ()), rest
    if [n[1:] for n in x] != [n[1:] for n in y] or [n[1:] for n in x] != [str(i) for i in range(1, len(x) + 1)]:
        raise Problem("read.logit_columns", source=source, line=line, old=", ".join(x), new=", ".join(y))
    columns["action"] = by_name["action"]
    taken = {by_name[name] for name in (*x, *y, "action")}
    return (tuple(by_name[n] for n in x), tuple(by_name[n] for n in y)), [name for name in rest if name not in taken]


def _refuse_ambiguous(columns: Mapping[str, str], rest: Sequence[str], logits: bool, source: str, line: int) -> None:
    if logits or "logp_new" in columns or "prob_new" in columns:
        return
    for name in rest:
        if name.strip().lower() in AMBIGUOUS_LOGPS:
            raise Problem("read.ambiguous_logps", source=source, line=line, column=shown(name))


def _asides(columns: Mapping[str, str], rest: Sequence[str]) -> list[Note]:
    """What is left unused although its name says something: said once, so that nothing is lost unseen."""
    ambiguous = [name for name in rest if name.strip().lower() in (*AMBIGUOUS_LOGPS, *AMBIGUOUS_IDS)]
    notes = [note("read.ambiguous_unused", columns=", ".join(map(shown, ambiguous)))] if ambiguous else []
    # Only log-probs and ids: "rewards_x" beside "reward" is somebody's own column, "logp_rfe" is a slip.
    names = [name for name in ALIASES if name not in columns]
    for name in rest:
        plain = name.strip().lower()  # "completion" is a text, not a slip of "completion_id"
        slip = name not in ambiguous and plain != "completion"
        close = difflib.get_close_matches(plain, names, 1, 0.85) if slip else []
        if close:
            notes.append(note("read.near", column=shown(name), option=close[0]))
    return notes


def looks_like_metrics(header: Sequence[str], naming: Naming) -> bool:
    """Whether the columns are a training log's, a row a step, not tokens or answers.

    >>> names = ["step", "loss", "reward_mean", "kl"]
    >>> looks_like_metrics(names, name_columns(names, {}, "f", 1))
    True
    """
    if (
        naming.logits[0]
        or any(not name.startswith(("reward", "entropy")) for name in naming.columns)
        or (naming.rest and _answers(naming.rest))
    ):
        return False
    plain = [name.strip().lower() for name in header]
    metrics = [name for name in plain if METRIC.fullmatch(name)]
    stepped = any(name in STEP for name in plain)
    others = len(metrics) - sum(name in STEP for name in plain)
    own = [name for name in metrics if name not in ("reward", "rewards", "entropy", *STEP)]
    return (stepped and others >= 1) or (len(own) >= 2) or (len(own) >= 1 and len(metrics) >= 2)


def _answers(rest: Sequence[str]) -> bool:
    return any(
        name.strip().lower()
        in (*AMBIGUOUS_IDS, *AMBIGUOUS_LOGPS, "completion", "response", "output", "text", "answer", "question", "input")
        for name in rest
    )


def candidates(naming: Naming) -> tuple[str, ...]:
    """The columns that could hold the group, the likeliest first."""
    plain = [name.strip().lower() for name in naming.rest]
    first = [name for name, low in zip(naming.rest, plain, strict=True) if low in AMBIGUOUS_IDS]
    return (
        *first,
        *(name for name in naming.rest if name not in first and name.strip().lower() not in AMBIGUOUS_LOGPS),
    )


def listed(names: Sequence[str], most: int = 12) -> str:
    """Names in a row, cut to a readable number.

    >>> listed(["a", "b", "c"], 2)
    'a, b ...'
    """
    return ", ".join(shown(name, 40) for name in names[:most]) + (" ..." if len(names) > most else "")
