"""The losses by name: a new loss is a row here."""

from __future__ import annotations

from dataclasses import replace

from rampion.losses.contrast import FEAR, HOPE, MODEL, ORACLE, REFERENCE, Contrast, Side
from rampion.losses.ranking import ALWAYS, COSTMARGIN, FIXED, LITERAL, PERCEPTRON, Regression
from rampion.protocols import Loss

LOSSES: dict[str, Loss] = {      # raise the score of …           lower the score of …
    "ramp1":            Contrast(up=MODEL,                        down=FEAR),
    "ramp2":            Contrast(up=HOPE,                         down=MODEL),
    "ramp3":            Contrast(up=HOPE,                         down=FEAR),
    "soft-ramp1":       Contrast(up=MODEL.soft(),                 down=FEAR.soft()),
    "soft-ramp2":       Contrast(up=HOPE.soft(),                  down=MODEL.soft()),
    "soft-ramp3":       Contrast(up=HOPE.soft(),                  down=FEAR.soft()),
    "soft-hope-ramp3":  Contrast(up=HOPE.soft(),                  down=FEAR),
    "soft-fear-ramp3":  Contrast(up=HOPE,                         down=FEAR.soft()),
    "perceptron":       Contrast(up=REFERENCE,                    down=MODEL),
    "kbest-perceptron": Contrast(up=ORACLE,                       down=MODEL),
    "gamma-perceptron": Contrast(up=Side(tilt=-10.0),             down=MODEL),
    "oracle-worst":     Contrast(up=ORACLE,                       down=Side(tilt=+1.0, where="worst")),
    "hinge":            Contrast(up=REFERENCE,                    down=FEAR),
    "softmax-margin":   Contrast(up=REFERENCE,                    down=FEAR.soft()),
    "log":              Contrast(up=REFERENCE,                    down=MODEL.soft()),
    "latent-log":       Contrast(up=REFERENCE.soft(),             down=MODEL.soft()),
    "och-ney":          Contrast(up=ORACLE,                       down=MODEL.soft()),
    "hope-log":         Contrast(up=HOPE,                         down=MODEL.soft()),
    "oracle-log":       Contrast(up=ORACLE.soft(),                down=MODEL.soft()),

    # of relevant sets: a truth above its alternatives
    "costmargin":         COSTMARGIN,
    "costmargin-fixed":   FIXED,
    "costmargin-literal": LITERAL,
    "costmargin-all":     replace(COSTMARGIN, every=True),
    "set-perceptron":     PERCEPTRON,
    "set-perceptron-always": ALWAYS,
    "regression":         Regression(),
}  # fmt: skip
