"""Results of Hugging Face and vLLM, by objects that have the same attributes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import rampion
from rampion.errors import InputError

END, PAD = 2, 0
# Two prompts of two tokens, two sequences each; the first of all ends early. As GenerateBeamDecoderOnlyOutput has them.
SEQUENCES = np.array([[5, 6, 7, END, PAD], [5, 6, 8, 9, 7], [4, 3, 7, 7, END], [4, 3, END, PAD, PAD]])
STEPS = np.array([[-0.5, -0.25, -9.0], [-1.0, -1.0, -0.5], [-0.25, -0.25, -0.25], [-3.0, -9.0, -9.0]])
TEXTS = ["a", "b c", "d d", ""]
FOUND = [-0.75, -2.5, -0.75, -3.0]


def generated(**others):
    return SimpleNamespace(sequences=SEQUENCES, scores=(), **others)


@pytest.mark.parametrize("end", [END, [END, 99], (END, PAD)])
def test_sequences_with_transition_scores(end):
    made = rampion.from_generated(generated(), TEXTS, ids=["p", 7], sources=["x", "y"], transitions=STEPS, end=end)
    assert [(one.id, one.texts) for one in made] == [("p", ["a", "b c"]), ("7", ["d d", ""])]
    feats = [candidate.features for segment in made for candidate in segment]
    assert [one["logprob"] for one in feats] == FOUND
    assert [one["tokens"] for one in feats] == [2, 3, 3, 1]
    assert made.of_segments("source") == ["x", "y"]


def test_beams_have_scores_of_their_own_and_sampling_has_none():
    made = rampion.from_generated(
        generated(sequences_scores=np.float32([-0.5, -1, -0.25, -2])), TEXTS, sources=["x", "y"]
    )
    assert [candidate.features for candidate in made[1]] == [{"score": -0.25}, {"score": -2.0}]
    made = rampion.from_generated(generated(sequences_scores=None), TEXTS, ids=[0, 1])
    assert (list(made.segments), len(made.features)) == (["0", "1"], 0)


def output(text, tokens, logprob):
    return SimpleNamespace(
        index=0, text=text, token_ids=tuple(tokens), cumulative_logprob=logprob, finish_reason="stop"
    )


def test_requests_of_vllm():
    requests = [
        SimpleNamespace(request_id="0", prompt="2+3", outputs=[output("5", [7], -0.5), output("6", [8, 9], -1.5)]),
        SimpleNamespace(request_id="1", prompt=None, outputs=[output("", [], 0.0)]),
    ]
    made = rampion.from_generated(requests)
    assert [(one.id, one.texts) for one in made] == [("0", ["5", "6"]), ("1", [""])]
    assert made[0][1].features == {"logprob": -1.5, "tokens": 2.0}
    assert made.of_segments("source") == ["2+3", ""]
    assert list(rampion.from_generated(requests, ids=["a", "b"]).segments) == ["a", "b"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((generated(),), "sequences of tokens need their texts"),
        ((generated(), TEXTS), "sequences of tokens need their texts .*, and ids or sources"),
        ((generated(), TEXTS[:3], {"ids": [1]}), "there are 4 sequences, 3 texts and 1 prompts"),
        ((generated(), TEXTS, {"ids": [1, 2, 3]}), "there are 4 sequences, 4 texts and 3 prompts"),
        ((generated(), TEXTS, {"ids": [1, 2], "sources": ["x"]}), "there are 1 sources for 2 prompts"),
        ((generated(), TEXTS, {"ids": [1, 2], "transitions": STEPS}), "name its last token: end="),
        ((generated(), TEXTS, {"ids": [1, 2], "transitions": STEPS[:3], "end": END}), "3 values of logprob for 4"),
        ((SEQUENCES, TEXTS), "a ndarray has no sequences; give generate"),
        (([SimpleNamespace(text="a")],), "result 0 is a SimpleNamespace without outputs that have a text"),
        (([], None, {"ids": ["a"]}), "there are 1 ids for 0 prompts"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told(arguments, sentence):
    named = arguments[2] if len(arguments) > 2 else {}
    with pytest.raises(InputError, match=sentence):
        rampion.from_generated(*arguments[:2], **named)
