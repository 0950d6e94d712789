"""The roles of a table's columns: those that a user gives, and those that common names imply."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches

from rampion.errors import InputError

ONE = "id", "text", "source", "group", "weight", "score", "note"
SEVERAL = "target", "refs", "features", "keep", "indicators", "drop"
OPTIONAL = "target", "refs"  # roles that lists for reranking may lack, so that they can have the --columns of tuning

# Common names of columns, the clearer ones first. A column that needs a reference or a judge is never a feature.
PLAIN = {
    "id": (
        "question_id", "prompt_id", "segment_id", "sentence_id", "source_id", "utterance_id", "utt_id", "uttid", "utt",
        "query_id", "qid", "problem_id", "task_id", "example_id", "item_id", "doc_id", "seg_id", "segment", "id",
    ),
    "text": (
        "text", "hypothesis", "hyp", "candidate", "translation", "transcript", "completion", "response", "generation",
        "generated_text", "solution", "output", "prediction", "pred_text", "mt", "answer",
    ),
    "source": ("source", "src", "prompt", "question", "query", "input", "instruction"),
    "group": ("group", "category", "subject", "domain", "topic"),
    "weight": ("weight", "sample_weight"),
    "target": (
        "is_correct", "correct", "label", "reward", "passed", "exact_match", "acc", "accuracy", "rating", "human_score",
        "wer", "cer", "ter", "bleu", "chrf", "meteor", "bleurt", "comet",
    ),
    "refs": ("refs", "references", "ref", "reference"),
    "note": ("note",),
}  # fmt: skip
INDEX = re.compile(r"Unnamed: \d+|__index_level_\d+__")  # a data frame's index, written as a column
GUESSED = {name: role for role, names in PLAIN.items() for name in names}


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of every role; a column of numbers without a role is a feature.

    Parameters
    ----------
    id, text, source, group, weight, score, note : str, optional
        The columns of the segment's name, of the candidate's text, of the source or prompt, of the segment's group and
        weight, of the score that came with the candidate, and of any other text.
    target, refs : tuple of str
        Columns of labels, rewards or metrics, which are never features; and of references.
    features : tuple of str
        The only columns that are features; by default all columns of numbers without a role.
    keep, indicators : tuple of str
        Columns of strings to keep, and those of which every value becomes a feature.
    drop : tuple of str
        Columns to leave out.
    size : int, optional
        The length of every list, where nothing names the segments.
    wanted : tuple of str
        Columns that a metric reads: targets, unless they have another role.
    grouping : str, optional
        The column of groups for folds. It is kept, whatever other role it has.

    Examples
    --------
    >>> from rampion.store.columns import Columns
    >>> Columns.parse("id=question_id,text=solution,target=is_correct").target
    ('is_correct',)
    """

    id: str | None = None
    text: str | None = None
    source: str | None = None
    group: str | None = None
    weight: str | None = None
    score: str | None = None
    note: str | None = None
    target: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    indicators: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    size: int | None = None
    wanted: tuple[str, ...] = ()
    grouping: str | None = None

    @classmethod
    def parse(cls, said: str | Sequence[str] | None) -> Columns:
        """The roles of `role=column,role=column+column`."""
        found = cls()
        for cell in ",".join([said] if isinstance(said, str) else said or ()).split(","):
            role, equals, names = cell.strip().partition("=")
            if not cell.strip():
                continue
            if role not in (*ONE, *SEVERAL, "size"):
                near = get_close_matches(role, (*ONE, *SEVERAL, "size"), 1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise InputError(f"--columns {cell}: expected {', '.join((*ONE, *SEVERAL))} or size before '='{hint}")
            if not equals or not names:
                raise InputError(f"--columns {cell}: expected {role}=COLUMN")
            found = found.plus(role, names)
        return found

    def _with(self, role: str, value: str | tuple[str, ...]) -> Columns:
        return Columns(**{slot.name: getattr(self, slot.name) for slot in fields(self)} | {role: value})

    def plus(self, role: str, names: str) -> Columns:
        """These roles and one more."""
        if role in SEVERAL:
            return self._with(role, (*getattr(self, role), *names.split("+")))
        if getattr(self, role) is not None:
            raise InputError(f"--columns {role}={names}: {role} is {getattr(self, role)!r} already; name one column")
        if role != "size":
            return self._with(role, names)
        if not names.isdecimal() or int(names) == 0:
            raise InputError(f"--columns size={names}: expected the number of candidates of every list")
        return replace(self, size=int(names))

    def roles(self) -> dict[str, str]:
        """The role of every column that is named; none may have two."""
        found: dict[str, str] = {}
        for role, name in self.named():
            if name in found and (found[name], role) not in (
                ("source", "keep"),
                ("group", "keep"),
                ("keep", "indicators"),
            ):
                raise InputError(f"--columns: the column {name!r} is {found[name]} and {role}; give it one role")
            found[name] = role
        for name in self.wanted:
            found.setdefault(name, "target")
        return found

    def named(self) -> Iterable[tuple[str, str]]:
        """Every role with each of its columns."""
        for role in (*ONE, *SEVERAL):
            value = getattr(self, role)
            if role in SEVERAL:
                yield from ((role, name) for name in value)
            elif value is not None:
                yield role, value

    def __bool__(self) -> bool:
        return replace(self, wanted=(), grouping=None) != Columns()

    def missing(self, met: Iterable[str]) -> Iterable[tuple[str, str]]:
        """Pairs of a role and a column that is missing from the file; the roles that a file may lack come last."""
        there = set(met)
        lost = [(role, name) for role, name in self.named() if name not in there]
        return sorted(lost, key=lambda one: one[0] in OPTIONAL)

    def guessed(self, names: Iterable[str]) -> Columns:
        """The roles, completed by those that common names of columns imply."""
        given, found, names = self.roles(), self, set(names)
        for role, plain in PLAIN.items():
            free = [name for name in plain if name in names and name not in given]
            if role == "target" or (role in SEVERAL and not getattr(self, role)):
                found = found._with(role, (*getattr(self, role), *free))
            elif role in ONE and getattr(self, role) is None and free:
                found = found._with(role, free[0])
        return found
