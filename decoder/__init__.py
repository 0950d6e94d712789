"""The bundled decoder. It imports rampion; rampion never imports it, and meets it only through the Decoder protocol.

    corpus → align → jumps → blocks, lm → states, options → templates → dense, candidates → model → search
    → kbest, oracle, lattice
"""
