"""What to cite: the papers behind the recipes and metrics, as citations.bib has them."""

from __future__ import annotations

import re
from importlib.resources import files

_ENTRIES = re.split(r"\n\n(?=@)", files("rampion").joinpath("citations.bib").read_text("utf-8").rstrip())
BIBTEX = {entry[entry.index("{") + 1 : entry.index(",")]: entry for entry in _ENTRIES}
METRICS = ("papineni2002", "lin2004", "post2018")
