"""The bundled decoder: monotone and swap block sequences with orientation features. It imports the rest of rampion.

text → alignment → models → features → search → block_decoder → count_decoder → remote, system
"""
