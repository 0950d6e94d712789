"""What a system knows: blocks, their options for a sentence, language models and jump probabilities."""
