"""The models of a system: blocks, their options for a sentence, language models and jump probabilities."""
