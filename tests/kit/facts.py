"""Lists as plain Python, and stores made of it."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from rampion.store.candidates import Candidates
from rampion.store.names import Names
from rampion.store.rows import Rows
from rampion.store.text import Texts


def told(store):
    """A store as plain facts: per segment, per candidate, its text and its features by name."""
    rows = store.rows()
    facts = {}
    for s, segment in enumerate(store.segments):
        facts[segment] = []
        for i in range(store.bounds[s], store.bounds[s + 1]):
            entries = slice(rows.entry_bounds[i], rows.entry_bounds[i + 1])
            features = {
                store.features.names[f]: v for f, v in zip(rows.ids[entries], rows.values[entries], strict=True)
            }
            facts[segment].append((store.texts[i], {name: v for name, v in features.items() if v}))
    return facts


def built(segments, iteration=0):
    """A store of {segment: [(text, {name: value})]}."""
    names, ids, values, entry_bounds, texts = Names(), [], [], [0], []
    for hyps in segments.values():
        for text, features in hyps:
            ids += [names.intern(name) for name in features]
            values += features.values()
            entry_bounds.append(len(ids))
            texts.append(text)
    n = len(texts)
    rows = Rows(
        Texts.from_strings(segments),
        np.concatenate([[0], np.cumsum([len(hyps) for hyps in segments.values()])]).astype(np.int64),
        Texts.from_strings(texts),
        np.array(entry_bounds, np.int64),
        np.array(ids, np.uint32),
        np.array(values, np.float64),
        np.full(n, np.nan),
        Texts.from_strings([""] * n),
        {},
    )
    return Candidates.from_rows(names, [[rows]])[0].at(iteration)


SMALL = {
    "7": [("a b", {"LM": -1.5, "x": 2.0}), ("a c", {"LM": -2.0, "y": 1.0})],
    "8": [("d", {"LM": -0.5, "x": 1.0, "y": 3.0})],
}


def plain(runs, names):
    """Rows as plain lists: (segment, text, {feature: value}, total, note, metrics) per candidate."""
    found = []
    for rows in runs:
        for s, segment in enumerate(rows.segments):
            for i in range(rows.bounds[s], rows.bounds[s + 1]):
                entries = slice(rows.entry_bounds[i], rows.entry_bounds[i + 1])
                feats = {
                    names[j]: v for j, v in zip(rows.ids[entries].tolist(), rows.values[entries].tolist(), strict=True)
                }
                metrics = {name: column[i].item() for name, column in rows.metrics.items()}
                found.append((segment, rows.texts[i], feats, rows.scores[i].item(), rows.notes[i], metrics))
    return found


word = st.text(st.sampled_from("abzé語=|:-.,~'"), min_size=1, max_size=5)


name = word.filter(lambda text: not text.startswith("metric:"))
