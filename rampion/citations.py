"""What to cite, as BibTeX: the papers behind the recipes and metrics."""

from __future__ import annotations

BIBTEX = {
    "gimpel2012": """@inproceedings{gimpel2012,
  author    = {Kevin Gimpel and Noah A. Smith},
  title     = {Structured Ramp Loss Minimization for Machine Translation},
  booktitle = {Proceedings of NAACL-HLT},
  pages     = {221--231},
  year      = {2012}
}""",
    "gimpel2010": """@inproceedings{gimpel2010,
  author    = {Kevin Gimpel and Noah A. Smith},
  title     = {Softmax-Margin {CRF}s: Training Log-Linear Models with Cost Functions},
  booktitle = {Proceedings of NAACL-HLT},
  pages     = {733--736},
  year      = {2010}
}""",
    "liang2006": """@inproceedings{liang2006,
  author    = {Percy Liang and Alexandre Bouchard-C{\\^o}t{\\'e} and Dan Klein and Ben Taskar},
  title     = {An End-to-End Discriminative Approach to Machine Translation},
  booktitle = {Proceedings of COLING-ACL},
  pages     = {761--768},
  year      = {2006}
}""",
    "och2002": """@inproceedings{och2002,
  author    = {Franz Josef Och and Hermann Ney},
  title     = {Discriminative Training and Maximum Entropy Models for Statistical Machine Translation},
  booktitle = {Proceedings of ACL},
  pages     = {295--302},
  year      = {2002}
}""",
    "och2003": """@inproceedings{och2003,
  author    = {Franz Josef Och},
  title     = {Minimum Error Rate Training in Statistical Machine Translation},
  booktitle = {Proceedings of ACL},
  pages     = {160--167},
  year      = {2003}
}""",
    "smith2006": """@inproceedings{smith2006,
  author    = {David A. Smith and Jason Eisner},
  title     = {Minimum Risk Annealing for Training Log-Linear Models},
  booktitle = {Proceedings of COLING-ACL},
  pages     = {787--794},
  year      = {2006}
}""",
    "papineni2002": """@inproceedings{papineni2002,
  author    = {Kishore Papineni and Salim Roukos and Todd Ward and Wei-Jing Zhu},
  title     = {{BLEU}: a Method for Automatic Evaluation of Machine Translation},
  booktitle = {Proceedings of ACL},
  pages     = {311--318},
  year      = {2002}
}""",
    "lin2004": """@inproceedings{lin2004,
  author    = {Chin-Yew Lin and Franz Josef Och},
  title     = {{ORANGE}: a Method for Evaluating Automatic Evaluation Metrics for Machine Translation},
  booktitle = {Proceedings of COLING},
  pages     = {501--507},
  year      = {2004}
}""",
    "post2018": """@inproceedings{post2018,
  author    = {Matt Post},
  title     = {A Call for Clarity in Reporting {BLEU} Scores},
  booktitle = {Proceedings of the Third Conference on Machine Translation},
  pages     = {186--191},
  year      = {2018}
}""",
}
METRICS = ("papineni2002", "lin2004", "post2018")
