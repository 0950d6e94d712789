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
    "smith2006": """@inproceedings{smith2006,
  author    = {David A. Smith and Jason Eisner},
  title     = {Minimum Risk Annealing for Training Log-Linear Models},
  booktitle = {Proceedings of COLING-ACL},
  pages     = {787--794},
  year      = {2006}
}""",
    "wuebker2015": """@inproceedings{wuebker2015,
  author    = {Joern Wuebker and Sebastian Muehr and Patrick Lehnen and Stephan Peitz and Hermann Ney},
  title     = {A Comparison of Update Strategies for Large-Scale Maximum Expected {BLEU} Training},
  booktitle = {Proceedings of NAACL-HLT},
  pages     = {1516--1526},
  year      = {2015}
}""",
    "riedmiller1993": """@inproceedings{riedmiller1993,
  author    = {Martin Riedmiller and Heinrich Braun},
  title     = {A Direct Adaptive Method for Faster Backpropagation Learning: The {RPROP} Algorithm},
  booktitle = {Proceedings of the IEEE International Conference on Neural Networks},
  pages     = {586--591},
  year      = {1993}
}""",
    "duchi2011": """@article{duchi2011,
  author    = {John Duchi and Elad Hazan and Yoram Singer},
  title     = {Adaptive Subgradient Methods for Online Learning and Stochastic Optimization},
  journal   = {Journal of Machine Learning Research},
  volume    = {12},
  pages     = {2121--2159},
  year      = {2011}
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
