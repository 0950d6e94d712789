"""python -m rampion, and the command rampion."""

from rampion import signals


def main() -> None:
    """Import the command line and run it; Ctrl-C, also while it is being imported, ends in one line."""
    signals.occupy()
    signals.watch()
    try:
        from rampion import cli

        cli.main()
    except KeyboardInterrupt:
        signals.tell()
        raise SystemExit(signals.INTERRUPTED) from None


if __name__ == "__main__":
    main()
