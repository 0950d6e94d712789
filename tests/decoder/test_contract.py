"""What every decoder promises, asked of every decoder there is; and what is said of those that break it."""

from __future__ import annotations

import shlex
import sys
import time

import numpy as np
import pytest
from rampion.decoder.text.toy import task
from systems import decoder, large, segments

from rampion.errors import InputError
from rampion.formats import save_nbest
from rampion.store.candidates import Candidates
from rampion.store.features import Weights
from rampion.store.text import References, Texts
from rampion.training.decoders import Command, FixedLists, Function, decoded
from rampion.training.inputs import judge
from rampion.training.loop import train
from rampion.training.recipes import RECIPES

lined = Texts.from_strings

RECORDS = list(task(5, 6, 15))
SEGMENTS = [str(s) for s in range(len(RECORDS))]
START = Weights.from_dict({"LM": 0.5, "TM[0]": 0.2, "TM[1]": 0.2, "WordPenalty": -1.0, "Distortion": 0.3})

# Reads weights and source segments, which are numbers of its own lists; ranks, and writes Moses n-best lists to stdout.
PROGRAM = """
import sys
import numpy as np
import rampion
lists = rampion.load_nbest(sys.argv[1])
order = [int(line) for line in sys.stdin]
ranked = rampion.rerank(lists[order], rampion.load_weights(sys.argv[2]), lenient=True)
from rampion.formats import save_nbest
from rampion.store.text import Texts
kept = ranked.keep(ranked.rank() < int(sys.argv[3]))
kept = kept.take(np.arange(kept.size), kept.bounds, Texts.from_strings(map(str, range(len(order)))))
save_nbest("-" if len(sys.argv) < 5 else sys.argv[4], kept)
"""


def toy_lists():
    return Candidates.from_records(RECORDS)


def fixed(folder):
    return FixedLists(toy_lists())


def function(folder):
    def answer(segment, weights, k):
        return [(hypothesis["text"], hypothesis["feats"]) for hypothesis in RECORDS[int(segment)]["hyps"][:k]]

    return Function(answer)


def command(folder):
    save_nbest(folder / "lists.store", toy_lists())
    (folder / "program.py").write_text(PROGRAM, "utf-8")
    program = [sys.executable, str(folder / "program.py"), str(folder / "lists.store")]
    return Command(f"{shlex.join(program)} {{weights}} {{k}}")


def bundled(folder):
    return decoder("fourteen,P1,W3")


def with_counts(folder):
    return large("fourteen,P1,W3")


@pytest.fixture(params=[fixed, function, command, bundled, with_counts], ids=lambda make: make.__name__, scope="module")
def case(request, tmp_path_factory):
    made = request.param(tmp_path_factory.mktemp("decoder"))
    return (made, segments()[:6], made.initial) if request.param in (bundled, with_counts) else (made, SEGMENTS, START)


def same(one, other):
    return all(
        np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        for a, b in zip(one.arrays().values(), other.arrays().values(), strict=True)
    )


def test_a_list_for_every_segment_of_at_most_k_candidates(case):
    asked, lines, weights = case
    for k in (1, 4):
        lists = decoded(asked, lined(lines), weights, k)
        assert len(lists.segments) == len(lines)
        assert 0 < np.diff(lists.bounds).max() <= k
        assert not np.isinf(lists.scores).any()


def test_the_same_question_has_the_same_answer(case):
    asked, lines, weights = case
    before = weights.vector.copy()
    assert same(asked.decode(lined(lines), weights, 5), asked.decode(lined(lines), weights, 5))
    assert np.array_equal(weights.vector, before)


def test_weights_of_unknown_features_and_missing_ones_do_no_harm(case):
    asked, lines, weights = case
    other = Weights.from_dict(dict(list(weights.items())[1:]) | {"never-seen": 3.0})
    assert len(decoded(asked, lined(lines), other, 3).segments) == len(lines)


def test_it_can_be_learnt_from(case):
    asked, lines, weights = case
    lists = asked.decode(lined(lines), weights, 10)
    references = References.from_lists([lists.texts[lists.bounds[s + 1] - 1]] for s in range(len(lines)))
    recipe = RECIPES["rampion"].set(iterations=2, k=10)
    learnt = train(recipe, asked, lined(lines), judge(lists, references, "bleu"), weights)
    assert np.isfinite(learnt.vector).all()


def python(program):
    return f"{shlex.join([sys.executable, '-c', program])} {{weights}}"


@pytest.mark.parametrize(
    ("decoder", "said"),
    [
        (Command("no-such-decoder {weights}"), "command no-such-decoder cannot be started: No such file"),
        (Command(python("import sys; print('out of memory', file=sys.stderr); sys.exit(3)"), retries=2),
         r"failed with exit code 3 \(tried 3 times\); stderr ended with: out of memory"),
        (Command(python("import os; os.kill(os.getpid(), 9)")), "was killed by signal 9; it wrote nothing to stderr"),
        (Command(python("import time; time.sleep(60)"), timeout=0.2), "did not end within 0.2 seconds"),
        (Command(python("pass") + " {nbest}"), "ended without writing its lists"),
        (Command(python("pass")), "the lists of the decoder command .* holds no candidates"),
        (Command(python("print('9 ||| a ||| LM= 1 ||| 1')")),
         "listed candidates of segment '9'; it was given the segments 0 to 5"),
        (Command(python("print('0 ||| a ||| LM= nan ||| 1')")),
         "the lists of the decoder command .*: line 1, of segment 0: 'nan' is not a finite number"),
        (Command("echo 'unbalanced"), "cannot be split: No closing quotation"),
        (Command("  "), "the decoder command is empty"),
        (Function(lambda segment, weights, k: [("a", {"LM": float("nan")})]), "segment 0, candidate 'a': LM is nan"),
        (Function(lambda segment, weights, k: [("a", {"LM": 1.0}), ("b", {"LM": 1.0})]),
         "listed 2 candidates for segment 0; at most k = 1"),
    ],
)  # fmt: skip
def test_what_breaks_the_promise_is_one_sentence(decoder, said):
    with pytest.raises(InputError, match=said):
        decoded(decoder, lined(SEGMENTS), START, 1)


def test_a_decoder_that_forgets_segments_is_refused():
    with pytest.raises(InputError, match="answered with 6 lists for 7 segments, without one for segment 6"):
        decoded(FixedLists(toy_lists()), lined([*SEGMENTS, "6"]), START, 5)


def test_a_line_break_is_refused_before_anything_runs():
    with pytest.raises(InputError, match="segment 1 has a line break"):
        Command("true").decode(lined(["a", "b\nc"]), START, 1)


def test_a_command_may_write_a_file_in_any_order():
    record = '{"id": "%s", "hyps": [{"text": "%s", "feats": {"LM": %s}}]}'
    said = f"{record % (1, 'a b', 1)}\n{record % (0, 'c', 2)}\n"
    program = f"import sys; open(sys.argv[2], 'w').write({said!r})"
    lists = Command(python(program) + " {nbest} {source} {k}").decode(lined(["x", "y"]), START, 7)
    assert list(lists.segments) == ["0", "1"]
    assert lists.bounds.tolist() == [0, 1, 2]
    assert list(lists.texts) == ["c", "a b"]
    with pytest.raises(InputError, match="listed nothing for 1 of 3 segments, the first of them segment 2; every"):
        Command(python(program) + " {nbest}").decode(lined(["x", "y", "z"]), START, 7)
    wrong = f"print({record % (0, 'c', 'NaN')!r})"
    said = r"listed candidates without a value of LM \(NaN or null\); a decoder must give"
    with pytest.raises(InputError, match=said):
        Command(python(wrong)).decode(lined(["x"]), START, 7)


def test_a_command_that_fails_once_is_tried_again(tmp_path):
    flag = tmp_path / "tried"
    program = f"""
import os, sys
seen = os.path.exists({str(flag)!r})
open({str(flag)!r}, "w")
print("0 ||| a ||| LM= 1 ||| 1")
sys.exit(not seen)
"""
    assert len(Command(python(program), retries=1).decode(lined(["x"]), START, 1)) == 1


def test_what_a_timed_out_command_has_started_ends_with_it(tmp_path):
    pulse = tmp_path / "pulse"
    child = (
        f"import time, pathlib\nwhile True: pathlib.Path({str(pulse)!r}).write_text(str(time.time())); time.sleep(0.05)"
    )
    program = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {child!r}]); time.sleep(60)"
    with pytest.raises(InputError, match="did not end"):
        Command(python(program), timeout=2.0).decode(lined(["x"]), START, 1)
    last = pulse.read_text()
    time.sleep(0.3)
    assert pulse.read_text() == last
