"""The bundled decoder. It imports rampion; rampion never imports it, and meets it only through the Decoder protocol.

    corpus → links → align → jumps → blocks → extract, lm → templates, dense → states →
    options → model → search → kbest, oracle, lattice
"""
