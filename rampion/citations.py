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
    "collins2002": """@inproceedings{collins2002,
  author    = {Michael Collins},
  title     = {Discriminative Training Methods for Hidden {M}arkov Models:
               Theory and Experiments with Perceptron Algorithms},
  booktitle = {Proceedings of EMNLP},
  pages     = {1--8},
  year      = {2002}
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
    "hopkins2011": """@inproceedings{hopkins2011,
  author    = {Mark Hopkins and Jonathan May},
  title     = {Tuning as Ranking},
  booktitle = {Proceedings of EMNLP},
  pages     = {1352--1362},
  year      = {2011}
}""",
    "cherry2012": """@inproceedings{cherry2012,
  author    = {Colin Cherry and George Foster},
  title     = {Batch Tuning Strategies for Statistical Machine Translation},
  booktitle = {Proceedings of NAACL-HLT},
  pages     = {427--436},
  year      = {2012}
}""",
    "crammer2006": """@article{crammer2006,
  author    = {Koby Crammer and Ofer Dekel and Joseph Keshet and Shai Shalev-Shwartz and Yoram Singer},
  title     = {Online Passive-Aggressive Algorithms},
  journal   = {Journal of Machine Learning Research},
  volume    = {7},
  pages     = {551--585},
  year      = {2006}
}""",
    "chiang2008": """@inproceedings{chiang2008,
  author    = {David Chiang and Yuval Marton and Philip Resnik},
  title     = {Online Large-Margin Training of Syntactic and Structural Translation Features},
  booktitle = {Proceedings of EMNLP},
  pages     = {224--233},
  year      = {2008}
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
    "koehn2004": """@inproceedings{koehn2004,
  author    = {Philipp Koehn},
  title     = {Statistical Significance Tests for Machine Translation Evaluation},
  booktitle = {Proceedings of EMNLP},
  pages     = {388--395},
  year      = {2004}
}""",
    "riezler2005": """@inproceedings{riezler2005,
  author    = {Stefan Riezler and John T. Maxwell},
  title     = {On Some Pitfalls in Automatic Evaluation and Significance Testing for {MT}},
  booktitle = {Proceedings of the {ACL} Workshop on Intrinsic and Extrinsic Evaluation Measures
               for Machine Translation and/or Summarization},
  pages     = {57--64},
  year      = {2005}
}""",
    "clark2011": """@inproceedings{clark2011,
  author    = {Jonathan H. Clark and Chris Dyer and Alon Lavie and Noah A. Smith},
  title     = {Better Hypothesis Testing for Statistical Machine Translation: Controlling for Optimizer Instability},
  booktitle = {Proceedings of ACL-HLT},
  pages     = {176--181},
  year      = {2011}
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
