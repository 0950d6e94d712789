"""python -m rampion, and the command rampion."""

import os


def main() -> None:
    """The command line with one BLAS thread: SciPy's L-BFGS makes them spin, twice the work for other last bits."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from rampion.cli import main as run

    run()


if __name__ == "__main__":
    main()
