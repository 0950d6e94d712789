"""One Costmargin pass (S10.5, eq. 7) as it is usually written: over ids of features, candidate by candidate.

All take the steps of `rampion.losses.ranking.COSTMARGIN` in the order given, and return how many visits moved the
weights.
"""

from __future__ import annotations

import ctypes
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FLAGS = ("-O3", "-ffp-contract=off", "-fno-math-errno", "-fPIC", "-shared")  # those of the kernels
PLAIN = """
#include <stdint.h>

int64_t epoch(int64_t visits, const int64_t *order, int64_t candidates, int64_t truths, const int64_t *bounds,
              const int32_t *ids, const float *values, const double *gains, double rate, float *weights,
              double *scores) {
    int64_t moved = 0;
    for (int64_t visit = 0; visit < visits; visit++) {
        int64_t first = order[visit] * candidates, s = 0, t = -1;
        double top = 0, step = 0;
        for (int64_t c = 0; c < candidates; c++) {
            float score = 0;
            for (int64_t i = bounds[first + c]; i < bounds[first + c + 1]; i++) score += VALUE(i) * weights[ids[i]];
            scores[c] = score;
        }
        for (int64_t c = 1; c < truths; c++)
            if (gains[first + c] > gains[first + s]) s = c;
        for (int64_t c = truths; c < candidates; c++) {
            double gap = gains[first + s] - gains[first + c], slack = 1 - (scores[s] - scores[c]);
            if (gap <= 0 || slack <= 0 || gap * slack * slack <= top) continue;
            top = gap * slack * slack, step = rate * gap * slack, t = c;
        }
        if (t < 0) continue;
        moved++;
        for (int64_t i = bounds[first + s]; i < bounds[first + s + 1]; i++) weights[ids[i]] += VALUE(i) * (float)step;
        for (int64_t i = bounds[first + t]; i < bounds[first + t + 1]; i++) weights[ids[i]] -= VALUE(i) * (float)step;
    }
    return moved;
}
"""

Order = NDArray[np.int64]
Singles = NDArray[np.float32]
Epoch = Callable[[Order, Singles], int]


class Rows(NamedTuple):
    """Features of equally many candidates of every sentence, the first of which are truths."""

    bounds: NDArray[np.int64]
    ids: NDArray[np.int32]
    gains: NDArray[np.float64]  # [sentences, candidates]
    truths: int
    rate: float

    def of(self, sentence: int) -> list[NDArray[np.int32]]:
        count = self.gains.shape[1]
        bounds = self.bounds[sentence * count : (sentence + 1) * count + 1]
        return np.split(self.ids[bounds[0] : bounds[-1]], bounds[1:-1] - bounds[0])

    def step(self, sentence: int, scores: NDArray[Any]) -> tuple[int, int, float]:
        """Truth, alternative, and how far they move apart."""
        gains = self.gains[sentence]
        truth = int(gains[: self.truths].argmax())
        gaps = np.maximum(gains[truth] - gains[self.truths :], 0)
        slacks = np.maximum(1 - (scores[truth] - scores[self.truths :]), 0)
        worst = int((gaps * slacks * slacks).argmax())
        return truth, self.truths + worst, float(self.rate * gaps[worst] * slacks[worst])


def plain(rows: Rows, valued: bool) -> Epoch:
    """C, compiled here: a loop over sparse rows, with the values that they hold or knowing that all are 1."""
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "plain.c"), Path(folder, "plain.so")
        source.write_text(PLAIN)
        compiler = str(sysconfig.get_config_var("CC") or "cc").split()
        value = "-DVALUE(i)=values[i]" if valued else "-DVALUE(i)=1.0f"
        subprocess.run([*compiler, *FLAGS, value, "-o", str(made), str(source)], check=True)
        library = ctypes.CDLL(str(made))
    rows_of = np.ctypeslib.ndpointer
    library.epoch.restype = ctypes.c_int64
    library.epoch.argtypes = (
        ctypes.c_int64, rows_of(np.int64), ctypes.c_int64, ctypes.c_int64, rows_of(np.int64), rows_of(np.int32),
        rows_of(np.float32), rows_of(np.float64), ctypes.c_double, rows_of(np.float32), rows_of(np.float64),
    )  # fmt: skip
    count = rows.gains.shape[1]
    scores, values = np.empty(count), np.ones(len(rows.ids) if valued else 0, np.float32)

    def epoch(order: Order, weights: Singles) -> int:
        bounds, ids, gains, truths, rate = rows
        return int(library.epoch(len(order), order, count, truths, bounds, ids, values, gains, rate, weights, scores))

    return epoch


def scipy(rows: Rows) -> Epoch:
    """SciPy: a matrix a sentence, made beforehand."""
    from scipy.sparse import csr_matrix

    width = int(rows.ids.max()) + 1
    matrices = []
    for sentence in range(len(rows.gains)):
        found = rows.of(sentence)
        columns = np.concatenate(found)
        bounds = np.concatenate([[0], np.cumsum([len(ids) for ids in found])]).astype(np.int32)
        matrices.append(csr_matrix((np.ones(len(columns), np.float32), columns, bounds), (len(found), width)))

    def epoch(order: Order, weights: Singles) -> int:
        moved = 0
        for sentence in order.tolist():
            matrix = matrices[sentence]
            truth, worst, step = rows.step(sentence, matrix @ weights[:width])
            if step:
                columns, bounds = matrix.indices, matrix.indptr
                weights[columns[bounds[truth] : bounds[truth + 1]]] += np.float32(step)
                weights[columns[bounds[worst] : bounds[worst + 1]]] -= np.float32(step)
                moved += 1
        return moved

    return epoch


def numpy(rows: Rows) -> Epoch:
    """NumPy: candidate by candidate."""

    def epoch(order: Order, weights: Singles) -> int:
        moved = 0
        for sentence in order.tolist():
            found = rows.of(sentence)
            truth, worst, step = rows.step(sentence, np.array([weights[ids].sum() for ids in found]))
            if step:
                weights[found[truth]] += np.float32(step)
                weights[found[worst]] -= np.float32(step)
                moved += 1
        return moved

    return epoch


def python(rows: Rows) -> Epoch:
    """Plain Python: lists of ids and a dict of weights, which it keeps in place of those given."""
    weights: dict[int, float] = dict.fromkeys(rows.ids.tolist(), 0.0)
    lists = [[ids.tolist() for ids in rows.of(sentence)] for sentence in range(len(rows.gains))]
    metric = rows.gains.tolist()

    def epoch(order: Order, _: Singles) -> int:
        moved = 0
        for sentence in order.tolist():
            found, gains = lists[sentence], metric[sentence]
            scores = [sum([weights[i] for i in ids]) for ids in found]
            truth = max(range(rows.truths), key=gains.__getitem__)
            worst, top, step = -1, 0.0, 0.0
            for c in range(rows.truths, len(found)):
                gap, slack = gains[truth] - gains[c], 1 - (scores[truth] - scores[c])
                if gap > 0 and slack > 0 and gap * slack * slack > top:
                    worst, top, step = c, gap * slack * slack, rows.rate * gap * slack
            if worst >= 0:
                for i in found[truth]:
                    weights[i] += step
                for i in found[worst]:
                    weights[i] -= step
                moved += 1
        return moved

    return epoch
