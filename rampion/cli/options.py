"""Every option of every command is declared here once, with one help text for all commands.

A command uses an option by the name of its type here, and gives it a default. The same flag means the same everywhere,
except for flags that name the thing that a command works on: --out, --dev, --test, --pairs, --longest, --top, --compare
and --group.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from typer import Argument, Option


class Test(StrEnum):
    """Tests of significance."""

    ar = "ar"
    bs = "bs"


class Format(StrEnum):
    """How to print a comparison."""

    terminal = "terminal"
    markdown = "markdown"
    latex = "latex"
    json = "json"


# Words for shell completion; imported only when a shell asks for them


def _recipes(incomplete: str) -> list[str]:
    from rampion.training.recipes import RECIPES

    done, comma, last = incomplete.rpartition(",")
    return [f"{done}{comma}{name}" for name in (*RECIPES, "all") if name.startswith(last)]


def _metrics(incomplete: str) -> list[str]:
    from rampion.metrics import METRICS

    name, colon, options = incomplete.partition(":")
    if not colon:
        return [known for known in (*METRICS, "metric:") if known.startswith(name)]
    done, comma, last = options.rpartition(",")
    known = METRICS[name][1] if name in METRICS else {}
    return [f"{name}:{done}{comma}{option}" for option in known if option.startswith(last)]


def _added(incomplete: str) -> list[str]:
    from rampion.features import MAKERS

    kind, colon, option = incomplete.partition(":")
    if colon and kind == "consensus":
        return [f"consensus:{name}" for name in _metrics(option)]
    return [name for name in MAKERS if name.startswith(incomplete)]


# Arguments that several commands read

NBEST = "Lists: Moses n-best, JSONL or a store; .gz and .zst too; - is stdin."

Lists = Annotated[list[str], Argument(metavar="NBEST", help=NBEST)]
OptionalLists = Annotated[list[str] | None, Argument(metavar="NBEST", help=NBEST, show_default=False)]
ListsOrText = Annotated[
    list[str],
    Argument(metavar="NBEST", help=f"{NBEST} With a decoder the text to translate, one sentence on each line."),
]
OneList = Annotated[str, Argument(metavar="NBEST", help=NBEST)]
Values = Annotated[
    list[str],
    Argument(metavar="NAME=FILE", help="A name and a file with a line or a JSON record for each candidate, in order."),
]
Source = Annotated[
    str, Argument(metavar="TEXT", help="Source sentences, tokenised, one on each line; - is stdin.", show_default=False)
]

TrainCorpus = Annotated[
    str, Argument(metavar="CORPUS", help="A folder from [bold]rampion corpus[/bold]: train, dev and test text.")
]

# Options of every command

Json = Annotated[bool, Option("--json", metavar="", help="Print one JSON object for machines instead of tables.")]

# Outputs: one flag, with a help text for each kind of output

Out = "--out", "-o"
PictureOut = Annotated[Path, Option(*Out, metavar="FILE", help="The picture: a file that ends in .svg, .png or .pdf.")]
RerunOut = Annotated[
    Path | None, Option(*Out, metavar="DIR", help="The folder of the repeated run.", show_default="RUN-again")
]
RunOut = Annotated[Path, Option(*Out, metavar="DIR", help="The run folder to write.")]
DemoOut = Annotated[
    Path, Option(*Out, metavar="DIR", help="A folder of its own; an unfinished demo in it is continued.")
]
SamplesOut = Annotated[Path, Option("--out", "-o", metavar="DIR", help="The folder for train.jsonl and test.jsonl.")]
Problems = Annotated[int, Option(metavar="N", min=1, help="Problems in each file.")]
TranscriptsOut = Annotated[
    Path, Option("--out", "-o", metavar="DIR", help="The folder for lists, transcripts, and text for a model.")
]
Utterances = Annotated[int, Option(metavar="N", min=1, help="Utterances in each half.")]
ListsDemoOut = Annotated[
    Path | None,
    Option(
        *Out,
        metavar="DIR",
        help="Write the lists of both halves and the initial weights here, to try the other commands on.",
    ),
]
ReproduceOut = Annotated[
    Path | None,
    Option(*Out, metavar="DIR", help="The folder of runs and results; unfinished runs in it are continued."),
]
ReportOut = Annotated[
    Path | None, Option(*Out, metavar="FILE", help="The page to write.", show_default="report.html in RUN")
]
BestOut = Annotated[
    str,
    Option(*Out, metavar="FILE", help="Write the best candidates here: JSON lines for .jsonl, else text; - is stdout."),
]
PickTop = Annotated[int, Option("--top", metavar="N", min=1, help="How many candidates of each list, the best first.")]
PickLines = Annotated[
    bool,
    Option(
        "--jsonl", metavar="", help="Write picks as JSON lines, also to stdout: id, rank, text, score, margin, fields."
    ),
]
ListsOut = Annotated[
    str | None,
    Option(*Out, metavar="FILE", help="The lists to write: JSONL for .jsonl, a store for .store, else Moses."),
]
TranslationsOut = Annotated[
    str, Option(*Out, metavar="FILE", help="Write the translations here, one on each line; - is stdout.")
]
LatticeOut = Annotated[
    str, Option(*Out, metavar="FILE", help="The search graphs to write: binary if it ends in .lattice, else text.")
]
WeightsOut = Annotated[
    str | None, Option(*Out, metavar="FILE", help="Write the weights again: binary if it ends in .bin, else text.")
]
PointsOut = Annotated[
    str, Option(*Out, metavar="FILE", help="The alignment to write: points 0-0 1-2 …, a line for each pair.")
]
BlocksOut = Annotated[str, Option(*Out, metavar="FILE", help="The blocks to write.")]
BlocksOutOrLook = Annotated[str | None, Option(*Out, metavar="FILE", help="The blocks to write.")]
CountsOut = Annotated[str | None, Option(*Out, metavar="FILE", help="The features to write.")]
StoreOut = Annotated[str, Option(*Out, metavar="FILE", help="The store to write.")]
CorpusOut = Annotated[str, Option(*Out, metavar="DIR", help="The new folder.")]
ModelOut = Annotated[
    str,
    Option(
        *Out,
        metavar="FILE",
        help="The model to write: text if it ends in .arpa or .arpa.gz, else (.lm) in binary form.",
    ),
]
SaveWeights = Annotated[
    str | None,
    Option("--save-weights", metavar="FILE", help="Also write the weights that tuning should start from."),
]

# References, metrics, and the reading of lists

_REFS = "References: a file for each, line by line, or one file of lines `id ||| text`. JSONL lists may hold their own."
Refs = Annotated[list[str] | None, Option("--refs", metavar="FILE", help=_REFS)]
NeededRefs = Annotated[list[str], Option("--refs", metavar="FILE", help=_REFS)]
_METRIC = (
    "bleu[:variant or tokeniser], chrf, chrf++, meteor, ter, wer, cer; for lists also metric:COLUMN, one of their "
    "columns (metric:COLUMN,lower if less is better), and COLUMN/COLUMN, a sum divided by a sum."
)
Metric = Annotated[str | None, Option("--metric", metavar="NAME", help=_METRIC, autocompletion=_metrics)]
Metrics = Annotated[
    list[str] | None,
    Option("--metric", metavar="NAME", help=_METRIC, show_default="bleu, and again for chrf", autocompletion=_metrics),
]
Target = Annotated[
    str | None,
    Option(
        "--target",
        metavar="COLUMN",
        help="The column to score by: a label of 0 or 1, a reward, a metric; COLUMN,lower if less is better, "
        "ERRORS/WORDS for a sum divided by a sum. Short for --metric metric:COLUMN.",
    ),
]
From = Annotated[
    list[str] | None,
    Option(
        "--from",
        metavar="NBEST",
        help="Lists that the systems choose from. A system is then listed, random, oracle, consensus[:METRIC], "
        "feature:NAME, weights, a run, or an output of the same segments.",
    ),
]
AttachedAs = Annotated[
    str, Option("--as", metavar="KIND", help="feature; metric, a column to tune towards; field, a string to keep.")
]
Columns = Annotated[
    list[str] | None,
    Option(
        "--columns",
        metavar="ROLE=COLUMN,…",
        help="The roles of a table's columns, as in id=question_id,text=solution,target=is_correct; roles are id, "
        "text, source, group, weight, score, target, refs, features, keep, indicators, drop and size; several columns "
        "of a role have a + between. By default common names are known, and other columns of numbers are features.",
        show_default="common names",
    ),
]
Lenient = Annotated[
    bool,
    Option("--lenient", metavar="", help="Skip lines that are wrong and report how many, instead of stopping."),
]
ForeignWeights = Annotated[
    bool,
    Option("--lenient", metavar="", help="Take weights that belong to other blocks or another language model, too."),
]

# Weights and runs

_WEIGHTS = "Weights, or the folder of a run."
Weights = Annotated[str | None, Option("--weights", "-w", metavar="FILE", help=_WEIGHTS)]
NeededWeights = Annotated[str, Option("--weights", "-w", metavar="FILE", help=_WEIGHTS)]
Iteration = Annotated[
    int | None,
    Option(
        "--iteration",
        metavar="N",
        min=1,
        help="An iteration of a run of [bold]rampion train[/bold].",
        show_default="the best on dev",
    ),
]
_TOP = "The number of features to show, those with the largest weights first."
TopFeatures = Annotated[int, Option("--top", metavar="N", min=0, help=_TOP)]
TopWeights = Annotated[int, Option("--top", metavar="N", min=1, help=_TOP)]
TopFired = Annotated[int, Option("--top", metavar="N", min=0, help=_TOP, show_default="all that weigh")]
TopRows = Annotated[int, Option("--top", metavar="N", min=1, help="At most this many rows of a table.")]
OtherRun = Annotated[
    Path | None, Option("--compare", metavar="RUN", help="Another run: the page shows only what differs.")
]
OtherWeights = Annotated[str | None, Option("--compare", metavar="FILE", help="Other weights, to compare with.")]
AxisFeatures = Annotated[
    list[str] | None, Option("--feature", metavar="NAME", help="A feature whose weight changes; repeat it for more.")
]
PlaneSegment = Annotated[str | None, Option("--segment", metavar="ID", help="The segment to draw.")]
Templates = Annotated[
    str | None,
    Option(
        "--group",
        metavar="NAMES",
        help="Show only features of these templates, as in word,P1 (runs of [bold]rampion train[/bold]).",
    ),
]

# Learning

_RECIPE = "An algorithm, by its name in [bold]rampion recipes[/bold]."
Recipe = Annotated[str, Option("--recipe", "-r", metavar="NAME", help=_RECIPE, autocompletion=_recipes)]
_USUAL = "auto, the best of a few; rampion with a decoder or --set"
TuneRecipe = Annotated[
    str | None,
    Option("--recipe", "-r", metavar="NAME", help=_RECIPE, show_default=_USUAL, autocompletion=_recipes),
]
Folds = Annotated[
    int,
    Option(
        "--folds",
        min=0,
        metavar="N",
        help="Hold out each of N parts of the lists in turn, for figures beside baselines; 0: none. --dev takes their "
        "place.",
    ),
]
Group = Annotated[
    str | None,
    Option(
        "--group", metavar="COLUMN", help="Segments with the same string or number in this column stay in one fold."
    ),
]
Bends = Annotated[
    bool,
    Option(
        "--bends",
        help="Add the places that features give candidates in their lists, and products of two, so that the weights "
        "can bend. Without --recipe they are used if they surely serve better.",
    ),
]
Set = Annotated[
    list[str] | None,
    Option(
        "--set",
        metavar="NAME=VALUE",
        help="Change a setting of the recipe, such as rate=1e-3 or seed=1; [bold]rampion recipes NAME[/bold] lists "
        "them. May be repeated.",
    ),
]
Policy = Annotated[
    str | None,
    Option(
        "--policy",
        metavar="NAME",
        help="Which candidates of successive decodings to keep: merge, replace, fixed, window:N.",
        show_default="merge; with a decoder the recipe's",
    ),
]
Dev = Annotated[
    list[str] | None,
    Option(
        "--dev",
        metavar="FILE",
        help="Held-out lists (with a decoder: text), scored after every round. Recipes with keep=dev return the "
        "weights that are best on them.",
    ),
]
DevRefs = Annotated[list[str] | None, Option("--dev-refs", metavar="FILE", help="References of --dev.")]
KeepRounds = Annotated[
    bool, Option("--keep-rounds", metavar="", help="Write the weights of every round too: weights/NNN.bin.")
]
_SEEDS = "Seeds, with commas between: everything that draws random numbers is run once with each."
Seeds = Annotated[str | None, Option("--seeds", metavar="N,N,…", help=_SEEDS)]
SomeSeeds = Annotated[str, Option("--seeds", metavar="N,N,…", help=_SEEDS)]
_SEED = "Seed of the random numbers; the same seed gives the same result."
Seed = Annotated[int, Option("--seed", min=0, metavar="N", help=_SEED)]
OwnSeed = Annotated[int | None, Option("--seed", min=0, metavar="N", help=_SEED, show_default="0")]
Folder = Annotated[
    str | None,
    Option(
        "--folder",
        metavar="DIR",
        help="For one .store larger than memory: keep the working data in temporary files in this folder.",
    ),
]
Shards = Annotated[
    int | None,
    Option(
        "--shards",
        min=1,
        metavar="N",
        help="Cut the data into N parts that are worked on separately; --executor changes nothing in the result.",
    ),
]
Resume = Annotated[bool, Option("--resume", metavar="", help="Continue the run in this folder.")]
Force = Annotated[bool, Option("--force", metavar="", help="Overwrite the run that is in this folder.")]
_ITERATIONS = "How often to decode the text and learn from it."
Iterations = Annotated[int, Option("--iterations", min=1, metavar="N", help=_ITERATIONS)]
OwnIterations = Annotated[int | None, Option("--iterations", min=1, metavar="N", help=_ITERATIONS, show_default="30")]
_K = "Candidates of each sentence, in each decoding."
K = Annotated[int, Option("--k", "-k", min=2, metavar="N", help=_K)]
NewK = Annotated[int | None, Option("--k", "-k", min=1, metavar="N", help=_K, show_default="1")]
ListK = Annotated[int, Option("--k", "-k", min=1, metavar="N", help=_K)]
Window = Annotated[
    int | None,
    Option(
        "--window",
        min=0,
        metavar="N",
        help="Shuffle within blocks of N neighbours, for data larger than memory; 0 shuffles everything.",
        show_default="0",
    ),
]
Fixed = Annotated[
    list[str] | None,
    Option("--fixed", metavar="NAME=W", help="Add a real-valued feature with a weight that is not learnt: LM=0.1."),
]
Base = Annotated[
    Path | None,
    Option("--base", metavar="RUN", help="Learn on top of the weights of another run, which are not changed."),
]
Memory = Annotated[
    str | None,
    Option("--memory", metavar="SIZE", help="The most memory to use, such as 12G; what does not fit goes to files."),
]
Curves = Annotated[Path | None, Option("--curves", metavar="FILE", help="Draw the scores of all iterations (SVG).")]
FirstPairs = Annotated[
    int | None, Option("--pairs", min=1, metavar="N", help="Learn from the first N sentence pairs only.")
]

StretchesOut = Annotated[
    Path, Option(*Out, metavar="SYSTEM", help="The folder of the system; an unfinished one is continued.")
]
Stretches = Annotated[
    int,
    Option(
        "--parts",
        min=2,
        metavar="N",
        help="Cut the training text into N stretches; each is decoded with blocks and a language model of the others.",
    ),
]
InLists = Annotated[
    int, Option("--in-lists", min=1, metavar="N", help="Learn the features that at least N lists have.")
]
Tuner = Annotated[
    str,
    Option("--tuner", metavar="NAME", help="The recipe that tunes on dev, before and after.", autocompletion=_recipes),
]
SharedWeights = Annotated[
    bool,
    Option(
        "--shared/--alone",
        help="Pairs and their moves also have weights that they share with others: of first and last words, and sizes.",
    ),
]

# Threads and workers

Threads = Annotated[
    int | None,
    Option(
        "--threads",
        min=1,
        metavar="N",
        help="Number of threads; the result does not depend on it.",
        show_default="one for each processor",
    ),
]
Executor = Annotated[
    str | None,
    Option(
        "--executor",
        metavar="NAME[,…]",
        help="Work shard by shard, so that the same command continues after an interruption: local (threads), dask "
        "(processes on this machine), or the address of a Dask scheduler. After commas: workers=2, size=100 (segments "
        "of a shard), deadline=600 (seconds for a shard), deaths=3, poison=skip. The result is the same for any.",
    ),
]
ShardsFolder = Annotated[
    Path | None, Option("--run", metavar="DIR", help="For --executor: the folder that keeps finished shards.")
]

# The bundled decoder, and others

_DECODER = "Decoder"
Blocks = Annotated[
    str | None,
    Option("--blocks", metavar="FILE", help="Blocks from [bold]rampion blocks[/bold].", rich_help_panel=_DECODER),
]
Lm = Annotated[
    str | None,
    Option("--lm", metavar="FILE", help="A language model: ARPA or binary.", rich_help_panel=_DECODER),
]
System = Annotated[
    Path | None,
    Option(
        "--system",
        metavar="DIR",
        help="The folder of word alignment, blocks and language model that [bold]rampion train[/bold] makes.",
        rich_help_panel=_DECODER,
    ),
]
Counts = Annotated[
    str | None,
    Option(
        "--counts",
        metavar="FILE",
        help="Features from [bold]rampion counts[/bold], to rescore what the search keeps.",
        rich_help_panel=_DECODER,
    ),
]
_FEATURES = (
    "Names with commas between: real-valued features (fourteen, seven, learnt, or single ones) and templates (phrase, "
    "word, all, pairs, lexical, triplets, reordering, or single ones)."
)
Features = Annotated[
    str | None,
    Option("--features", metavar="NAMES", help=_FEATURES, show_default="fourteen", rich_help_panel=_DECODER),
]
LearntFeatures = Annotated[str, Option("--features", metavar="NAMES", help=_FEATURES, rich_help_panel=_DECODER)]
Reordering = Annotated[
    str | None,
    Option(
        "--reordering",
        metavar="NAME",
        help="mon: blocks keep the order of the source; swap: neighbouring blocks may change places; distortion: any "
        "order in which no jump is longer than 6 words, or N words with distortion=N.",
        show_default="swap",
        rich_help_panel=_DECODER,
    ),
]
AdjacentSwaps = Annotated[
    bool,
    Option("--adjacent-swaps", metavar="", help="Let one swap follow another immediately.", rich_help_panel=_DECODER),
]
Beam = Annotated[
    int | None,
    Option(
        "--beam",
        min=1,
        metavar="N",
        help="Hypotheses kept for each number of covered words.",
        show_default="100",
        rich_help_panel=_DECODER,
    ),
]
BlockOptions = Annotated[
    int | None,
    Option(
        "--options",
        min=1,
        metavar="N",
        help="Blocks considered for each source phrase.",
        show_default="20",
        rich_help_panel=_DECODER,
    ),
]
_LONGEST = "Words of the longest phrase."
SourceLongest = Annotated[
    int | None,
    Option("--longest", min=1, max=255, metavar="N", help=_LONGEST, show_default="8", rich_help_panel=_DECODER),
]
PhraseLongest = Annotated[int, Option("--longest", min=1, max=20, metavar="N", help=_LONGEST)]
DecoderCommand = Annotated[
    str | None,
    Option(
        "--decoder-command",
        metavar="COMMAND",
        help="A program that reads weights and writes n-best lists. {weights}, {k}, {source}, {nbest} stand for the "
        "file of weights, the length of lists, the text (otherwise on stdin), the lists (otherwise on stdout).",
        rich_help_panel=_DECODER,
    ),
]
_TIMEOUT = "Stop the other program after this time."
Timeout = Annotated[
    float | None,
    Option(
        "--timeout",
        min=0.001,
        metavar="SECONDS",
        help=_TIMEOUT,
        show_default="no limit",
        rich_help_panel=_DECODER,
    ),
]
LongTimeout = Annotated[float, Option("--timeout", metavar="SECONDS", help=_TIMEOUT)]
Retries = Annotated[
    int | None,
    Option(
        "--retries",
        min=0,
        metavar="N",
        help="Run a decoder command that failed up to N times more.",
        show_default="0",
        rich_help_panel=_DECODER,
    ),
]

# Decoding

Nbest = Annotated[
    str | None,
    Option(
        "--nbest", metavar="FILE", help="Write n-best lists instead: JSONL for .jsonl, a store for .store, else Moses."
    ),
]
Distinct = Annotated[
    bool, Option("--distinct", metavar="", help="Lists of different texts, not of different derivations.")
]
LeaveOneOut = Annotated[
    str | None,
    Option(
        "--leave-one-out",
        metavar="TARGET",
        help="Decode the text that the blocks were made from, each line without its own counts. TARGET holds its "
        "translations.",
    ),
]
Penalty = Annotated[
    str | None,
    Option(
        "--penalty",
        metavar="SCORE",
        help="For --leave-one-out: the log score of a block that only this line holds; `length` is -5 for each word.",
        show_default="-12",
    ),
]
_ALIGN = "Word alignment of the text: points 0-0 1-2 …, a line for each pair."
Align = Annotated[str | None, Option("--align", metavar="FILE", help=_ALIGN)]
Line = Annotated[int | None, Option("--line", min=1, metavar="LINE", help="The line to explain.", show_default="1")]
Svg = Annotated[str | None, Option("--svg", metavar="FILE", help="Draw the line's blocks as a picture too.")]
Derivations = Annotated[
    str | None,
    Option(
        "--derivations",
        metavar="FILE",
        help="Write how the translations of all lines are built instead, as JSON lines.",
    ),
]

# Aligning words, and what is made of aligned text

_PAIR = "Source and target language, such as de-en, if the names of files do not show them."
Pair = Annotated[str | None, Option("--pair", metavar="SRC-TGT", help=_PAIR)]
NeededPair = Annotated[str, Option("--pair", metavar="SRC-TGT", help=_PAIR)]
Symmetrise = Annotated[
    str,
    Option("--symmetrise", metavar="METHOD", help="intersection, union, grow-diag or grow-diag-final-and."),
]
Program = Annotated[
    str | None,
    Option("--with", metavar="PROGRAM", help="Align with eflomal, or with a program that is called like it."),
]
LoadAligner = Annotated[str | None, Option("--load", metavar="FILE", help="Use a trained aligner; learn nothing.")]
SaveAligner = Annotated[str | None, Option("--save", metavar="FILE", help="Keep the trained aligner.")]
Gold = Annotated[
    str | None,
    Option("--score", metavar="GOLD", help="Compare with the true alignment, a file of the same form."),
]
Least = Annotated[
    int, Option("--least", min=1, metavar="N", help="Drop what occurs less often: a block, or a trigger.")
]
BlocksTop = Annotated[
    int, Option("--top", min=0, metavar="N", help="Keep at most N blocks of each source phrase; 0 keeps all.")
]
_RATIO = "Drop pairs with one side more than this many times as long as the other."
BlockRatio = Annotated[float, Option("--ratio", min=0.0, help=_RATIO, show_default="0: drop none")]
Tight = Annotated[bool, Option("--tight", metavar="", help="Take no phrases that begin or end with an unaligned word.")]
NoMixing = Annotated[bool, Option("--no-mixing", metavar="", help="Take no blocks of a word and a punctuation mark.")]
ShowPhrase = Annotated[str | None, Option("--show", metavar="PHRASE", help="Print the blocks of a source phrase.")]
WordPairs = Annotated[
    int, Option("--pairs", min=0, metavar="N", help="Take the N most frequent pairs of linked words.")
]
Unigrams = Annotated[int, Option("--unigrams", min=0, metavar="N", help="Take the N most frequent target words.")]
Bigrams = Annotated[int, Option("--bigrams", min=0, metavar="N", help="Take the N most frequent target bigrams.")]
Trigrams = Annotated[int, Option("--trigrams", min=0, metavar="N", help="Take the N most frequent target trigrams.")]
Triggers = Annotated[
    int,
    Option(
        "--triggers",
        min=0,
        metavar="N",
        help="Take N pairs of an earlier and a later target word, those of the highest mutual information.",
    ),
]
SelfTriggers = Annotated[bool, Option("--self-triggers", metavar="", help="Let a word be a trigger of itself.")]

# Features for free

Add = Annotated[
    list[str] | None,
    Option(
        "--add",
        metavar="NAME",
        help="A feature to add, such as consensus:chrf, length, A*B or bins:A,5; [bold]rampion features[/bold] lists "
        "them. May be repeated.",
        autocompletion=_added,
    ),
]
Like = Annotated[
    str | None,
    Option("--like", metavar="FILE", help="Add the features that these weights, this run or these lists have."),
]
SourceText = Annotated[
    str | None, Option("--source", metavar="FILE", help="The source or prompt of every segment, a line each.")
]
Answer = Annotated[
    str | None,
    Option("--answer", metavar="REGEX", help="A pattern that finds the answer in a text; its last match counts."),
]

# Parallel text

HeldOut = Annotated[int, Option("--held-out", min=0, metavar="N", help="Sentences to tune on, and as many to test on.")]
TrainPairs = Annotated[int, Option("--pairs", min=1, metavar="N", help="Sentence pairs to invent.")]
References = Annotated[
    int, Option("--references", min=1, metavar="N", help="Reference translations of each held-out sentence.")
]
Noise = Annotated[float, Option("--noise", min=0.0, max=1.0, help="Share of training pairs that are not translations.")]
Free = Annotated[
    float, Option("--free", min=0.0, max=1.0, help="Share of phrases whose translation says something else.")
]
DevText = Annotated[
    list[str] | None,
    Option("--dev", metavar="FILE", help="Text to tune on: the source file, then once for each reference."),
]
TestText = Annotated[
    list[str] | None,
    Option("--test", metavar="FILE", help="Text to test on: the source file, then once for each reference."),
]
DevPairs = Annotated[int, Option("--dev-pairs", min=0, metavar="N", help="Pairs to set aside for tuning.")]
TestPairs = Annotated[int, Option("--test-pairs", min=0, metavar="N", help="Pairs to set aside for testing.")]
PairLongest = Annotated[
    int, Option("--longest", min=1, metavar="N", help="Drop pairs with more words than this on a side.")
]
PairRatio = Annotated[float, Option("--ratio", min=1.0, help=_RATIO)]
Tokenise = Annotated[
    str,
    Option(
        "--tokenise",
        metavar="HOW",
        help="none: the text is split into words already; simple: cut off punctuation; moses: by sacremoses.",
    ),
]
Lower = Annotated[bool, Option("--lower", metavar="", help="Write everything in lower case.")]
Root = Annotated[str, Option("--root", metavar="DIR", help="Where the packages are installed.")]
FilterTest = Annotated[
    str, Option("--test", metavar="FILE", help="The source text to cover, split into words like the corpus.")
]
Words = Annotated[int, Option("--words", min=1, metavar="N", help="Words of the longest substrings.")]
Greedy = Annotated[bool, Option("--greedy", metavar="", help="Choose fewer pairs; this takes longer.")]

# Language models

Order = Annotated[int, Option("--order", metavar="N", help="Words of the longest n-grams, 1 to 6.")]
Prune = Annotated[bool, Option("--prune", metavar="", help="Drop trigrams and longer n-grams that occur once.")]
Lines = Annotated[bool, Option("--lines", metavar="", help="Print the natural log-probability of every line instead.")]

# Reranking, examining, comparing, watching, reproducing

Reordered = Annotated[
    str | None,
    Option("--lists", metavar="FILE", help="Also write the whole lists, best first, with the new scores."),
]
Listed = Annotated[
    bool,
    Option(
        "--listed",
        metavar="",
        help="Add the scores to the decoder's own totals; for weights of recipes with base=listed.",
    ),
]
OtherLists = Annotated[
    str | None,
    Option("--other", metavar="NBEST", help="Other lists, such as the test's, to compare the features with."),
]
TestOption = Annotated[Test, Option("--test", help="ar: approximate randomisation; bs: paired bootstrap.")]
Trials = Annotated[
    int,
    Option(
        "--trials",
        min=1,
        metavar="N",
        help="Random shuffles or samples. If all shuffles are no more than that, every one is tried and p is exact.",
    ),
]
Style = Annotated[Format, Option("--format", help="How to print the result.")]
Every = Annotated[
    float | None, Option("--every", min=0.1, metavar="SECONDS", help="Show the status again every SECONDS seconds.")
]
Scale = Annotated[
    str, Option("--scale", metavar="NAME", help="How much text and how many iterations: small, medium, full.")
]
Corpus = Annotated[
    str | None,
    Option("--corpus", metavar="DIR", help="A folder of parallel text.", show_default="a toy corpus"),
]
CutHeldOut = Annotated[
    int,
    Option(
        "--held-out",
        min=0,
        metavar="N",
        help="Sentences to tune on, and as many to test on.",
        show_default="dev and test of the corpus",
    ),
]
Versions = Annotated[
    bool,
    Option("--versions", metavar="", help="Train on all versions of the target side: train.en, train.en.kjv, ..."),
]
DemoPairs = Annotated[int, Option("--pairs", min=100, metavar="N", help="Sentence pairs to invent.")]
DemoHeldOut = Annotated[
    int, Option("--held-out", min=10, metavar="N", help="Sentences to tune on, and as many to test on.")
]
Segments = Annotated[int, Option("--segments", min=20, metavar="N", help="Sentences: half to tune on, half held out.")]
