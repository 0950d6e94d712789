"""PRO: draw pairs, fit a linear classifier of their differences, go part of the way there (Hopkins & May 2011; S6)."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from rampion.errors import RecipeError
from rampion.losses.pairwise import Drawn, Pairs
from rampion.metrics.judging import Batch
from rampion.optim.solvers import Lbfgs
from rampion.protocols import Loss, Solver, Watch
from rampion.store.candidates import Candidates

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Reals = NDArray[np.float64]
Classifier = Literal["lbfgs", "liblinear"]


@dataclass(frozen=True, slots=True)
class Pro(Solver):
    """Rounds of: w minimises the loss of fresh pairs + (l2 / 2) |w|^2; weights <- psi w + (1 - psi) weights.

    Both classifiers find the same w: SciPy's L-BFGS on the lists, or scikit-learn's liblinear on the differences.
    """

    psi: float = 0.1
    rounds: int = 25
    l2: float = 1.0
    classifier: Classifier = "lbfgs"

    def __post_init__(self) -> None:
        if not 0 < self.psi <= 1:
            raise RecipeError(f"psi is {self.psi}; expected a share above 0 and at most 1 for the new weights (S6)")
        if self.l2 < 0:
            raise RecipeError(f"the classifier's l2 is {self.l2}; expected 0 or a positive strength")
        if self.classifier not in get_args(Classifier):
            raise RecipeError(f"no classifier {self.classifier!r}; there are {', '.join(get_args(Classifier))}")
        if self.classifier == "liblinear" and not self.l2:
            raise RecipeError("liblinear cannot fit without L2; give a positive l2 or use classifier='lbfgs'")
        if self.classifier == "liblinear" and not find_spec("sklearn"):
            raise RecipeError("scikit-learn is not installed; install rampion[pro] or use classifier='lbfgs'")

    def check(self, loss: Loss) -> None:
        if not isinstance(loss, Pairs):
            raise RecipeError(f"Pro learns from pairs; {type(loss).__name__} is no Pairs(): use another solver")

    def solve(self, loss: Loss, batch: Batch, weights: Reals, origin: Reals, watch: Watch | None = None) -> Reals:
        self.check(loss)
        if self.classifier == "liblinear" and batch.offset is not None:
            raise RecipeError("liblinear knows no fixed part of the scores; use classifier='lbfgs'")
        fit = weights
        for round_ in range(self.rounds):
            pairs = cast(Pairs, loss).drawn(batch.stakes, round_)
            if len(pairs.better):
                if self.classifier == "liblinear":
                    fit = liblinear(pairs, batch.candidates, self.l2)
                else:
                    fit = Lbfgs(self.l2, steps=500).solve(pairs, batch, fit, np.zeros(len(weights)))
                weights = self.psi * fit + (1 - self.psi) * weights
            if watch:
                watch(round_ + 1, weights)
        return weights


def liblinear(pairs: Drawn, candidates: Candidates, l2: float) -> Reals:
    """The weights that minimise the loss of the pairs + (l2 / 2) |weights|^2.

    liblinear wants both classes, so every other pair stands as the bad example worse - better, of equal loss.
    """
    from scipy.sparse import diags_array
    from sklearn.linear_model import LogisticRegression

    labels = np.where(np.arange(len(pairs.better)) % 2, -1.0, 1.0)
    differences = diags_array(labels) @ (matrix(candidates, pairs.better) - matrix(candidates, pairs.worse))
    differences.eliminate_zeros()
    wide = differences.shape[1] > differences.shape[0]
    classifier = LogisticRegression(
        C=2.0 / l2, fit_intercept=False, solver="liblinear", dual=wide, tol=1e-3 if wide else 1e-6, max_iter=2000,
        random_state=0,
    )  # fmt: skip
    return np.asarray(classifier.fit(differences, labels).coef_[0], np.float64)


def matrix(candidates: Candidates, picks: NDArray[np.int64]) -> csr_matrix:
    """The features of the picked candidates, one a row."""
    from scipy.sparse import csr_matrix

    lists, n, width = candidates.lists, len(picks), candidates.lists.width
    owner = np.searchsorted(lists.bounds, picks, side="right") - 1
    start, size = lists.bounds[owner], np.diff(lists.bounds)[owner]
    dense = lists.dense[(width * start + picks - start)[:, np.newaxis] + size[:, np.newaxis] * np.arange(width)]
    counts = np.diff(lists.entry_bounds)[picks]
    bounds = np.concatenate([[0], np.cumsum(counts)])
    entries = np.arange(bounds[-1]) + np.repeat(lists.entry_bounds[picks] - bounds[:-1], counts)
    ids, values = np.empty(n * width + len(entries), np.int32), np.empty(n * width + len(entries))
    places = np.ones(len(ids), bool)
    block = (bounds[:-1] + width * np.arange(n))[:, np.newaxis] + np.arange(width)
    places[block] = False
    ids[block], values[block] = np.arange(width), dense
    ids[places] = lists.features[np.repeat(lists.feature_bounds[owner], counts) + lists.entries[entries]]
    values[places] = lists.values[entries] if len(lists.values) else 1.0
    shape = (n, len(candidates.features))
    found = csr_matrix((values, ids, bounds + width * np.arange(n + 1)), shape=shape)
    found.sum_duplicates()
    return found
