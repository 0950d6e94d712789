"""The result of tuning: weights, the rounds that led to them, and their scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rampion.formats import weights as weights_format
from rampion.formats.files import FilePath
from rampion.metrics.base import decimals
from rampion.store.features import Weights
from rampion.training.loop import Round, Standing
from rampion.training.recipes import Recipe
from rampion.training.validation import Figures


class HeldOut(NamedTuple):
    """The scores of the initial, the chosen and the last weights on held-out lists."""

    before: Standing
    after: Standing
    last: Standing


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tuned:
    """The result of tuning: weights, the rounds that led to them, and their scores on the lists.

    Parameters
    ----------
    weights : Weights
        The result.
    last_weights : Weights
        The weights of the last round; with keep="dev" they need not be the result.
    recipe : Recipe
        The recipe that found them.
    rounds : list of Round
        Loss and score after every round.
    round : int or None
        The round that the held-out lists chose, if they chose one.
    before, after, last : Standing
        The score of the lists as listed, as chosen by the initial, resulting and last weights, and the best and worst
        possible.
    dev : HeldOut or None
        The same for held-out lists.
    metric : str
        The name of the metric.
    signature : str
        The settings behind the scores, as sacrebleu writes them.
    shrunk : float
        The length of the weights as a share of that of the initial ones; 1 if those were 0.
    choice : str
        The choice of the default: a recipe with its strength of L2, or a simple choice.
    held : Figures or None
        The scores of the weights and of baselines on lists that they were not learnt from.

    Examples
    --------
    >>> tuned = rampion.tune(lists, references, recipe="risk", metric="chrf")
    >>> tuned
    Tuned(chrF2 26.56 -> 100.00, oracle 100.00; Weights({'LM': ...}))
    >>> tuned.weights["TM"] > tuned.weights["LM"]
    True
    """

    weights: Weights
    last_weights: Weights
    recipe: Recipe
    rounds: list[Round]
    round: int | None
    before: Standing
    after: Standing
    last: Standing
    dev: HeldOut | None
    metric: str
    signature: str
    shrunk: float
    choice: str = ""
    held: Figures | None = None

    def __repr__(self) -> str:
        d = decimals([self.before.chosen, self.after.chosen, self.after.oracle])
        held = f", held out {self.dev.before.chosen:.{d}f} -> {self.dev.after.chosen:.{d}f}" if self.dev else ""
        scores = f"{self.metric} {self.before.chosen:.{d}f} -> {self.after.chosen:.{d}f}"
        scores += f", oracle {self.after.oracle:.{d}f}"
        return f"Tuned({scores}{held}; {self.weights!r})"

    def summary(self) -> str:
        """The scores as a table to print.

        Returns
        -------
        str
            A line for every choice of candidates, a column for the lists and one for held-out lists.

        Examples
        --------
        >>> print(rampion.tune(lists, references, recipe="risk", metric="chrf").summary())
        chrF2              tuned on
        as listed             26.56
        initial weights       26.56
        tuned weights        100.00
        best in the lists    100.00
        """
        stands = [(self.before, self.after)] + ([(self.dev.before, self.dev.after)] if self.dev else [])
        heads = ["tuned on", "held out"][: len(stands)]
        rows = [
            ("as listed", [after.listed for _, after in stands]),
            ("initial weights", [before.chosen for before, _ in stands]),
            ("tuned weights", [after.chosen for _, after in stands]),
            ("best in the lists", [after.oracle for _, after in stands]),
        ]
        d = decimals(score for _, scores in rows for score in scores)
        lines = [f"{self.metric:17}" + "".join(f"{head:>10}" for head in heads)]
        lines += [f"{name:17}" + "".join(f"{score:10.{d}f}" for score in scores) for name, scores in rows]
        return "\n".join(lines)

    def save(self, path: FilePath) -> None:
        """Write the weights to a file.

        Parameters
        ----------
        path : str or path
            Where to write; a name in .bin asks for the binary form.

        Examples
        --------
        >>> rampion.tune(lists, references, recipe="risk", metric="chrf").save("tuned.weights")
        >>> list(rampion.load_weights("tuned.weights"))
        ['LM', 'TM', 'Cat']
        """
        weights_format.write(path, self.weights)
