"""The options of the bundled decoder, which some commands take all together."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from typing import get_type_hints

from rampion.cli import options as opt

Command = Callable[..., None]
LEFT_OUT = {"leave_one_out": opt.LeaveOneOut, "align": opt.Align, "penalty": opt.Penalty}
# By the name that SystemOptions gives to it.
SYSTEM = {
    "weights": opt.Weights,
    "iteration": opt.Iteration,
    "lenient": opt.ForeignWeights,
    "blocks": opt.Blocks,
    "lm": opt.Lm,
    "features": opt.Features,
    "reordering": opt.Reordering,
    "adjacent_swaps": opt.AdjacentSwaps,
    "beam": opt.Beam,
    "options": opt.BlockOptions,
    "longest": opt.SourceLongest,
    **LEFT_OUT,
    "threads": opt.Threads,
}
FLAGS = {"lenient", "adjacent_swaps"}  # options without a value


def with_system(command: Command) -> Command:
    """The command with these options in place of its argument `system`, in which it gets what they say."""

    def called(**given: object) -> None:
        from rampion.apps.systems import LeaveOneOut, SystemOptions

        target, align, penalty = (given.pop(name) for name in LEFT_OUT)
        asked = {name: given.pop(name) for name in SYSTEM if name in given}
        left_out = LeaveOneOut(target=target, align=align, penalty=penalty)  # type: ignore[arg-type]
        command(**given, system=SystemOptions(**asked, leave_one_out=left_out))  # type: ignore[arg-type]

    hints = get_type_hints(command, localns={"SystemOptions": object}, include_extras=True)
    parameters = list[Parameter]()
    for name, one in signature(command).parameters.items():
        if name == "system":
            parameters += [Parameter(flag, Parameter.KEYWORD_ONLY, default=False if flag in FLAGS else None,
                                     annotation=hint) for flag, hint in SYSTEM.items()]  # fmt: skip
        else:
            parameters.append(one.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[name]))
    called.__name__, called.__doc__ = command.__name__, command.__doc__
    called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called
