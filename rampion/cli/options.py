"""Arguments that several commands share, and what they mean."""

from __future__ import annotations

from typing import Annotated

import typer

Lists = Annotated[
    list[str],
    typer.Argument(
        metavar="NBEST",
        help="Lists: Moses n-best, JSONL or a store; .gz and .zst too; - is stdin.",
        show_default=False,
    ),
]
Refs = Annotated[
    list[str] | None,
    typer.Option(
        "--refs",
        metavar="FILE",
        help="References, line by line, one file each; or one file of lines `id ||| text`. JSONL lists may hold them.",
        show_default=False,
    ),
]
Lenient = Annotated[
    bool,
    typer.Option(
        "--lenient", metavar="", help="Skip what is wrong with the lists and say how much, instead of stopping."
    ),
]
Json = Annotated[bool, typer.Option("--json", metavar="", help="Print one JSON object for machines instead of tables.")]
MetricOption = Annotated[
    str | None,
    typer.Option(
        "--metric",
        metavar="NAME",
        help="bleu[:variant], chrf, chrf++, ter, wer, or metric:COLUMN of the lists.",
        show_default=False,
    ),
]
