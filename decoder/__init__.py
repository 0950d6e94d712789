"""The bundled decoder. It imports rampion; rampion never imports it, and meets it only through the Decoder protocol.

    corpus → align → blocks, jumps → lm → templates, dense → states → options → model → search → kbest, oracle, lattice
"""
