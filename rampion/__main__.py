"""python -m rampion, and the command rampion."""

from rampion import interruption


def main() -> None:
    """Import the command line and run it; Ctrl-C, also while it is being imported, ends in one line."""
    heard = interruption.heed()
    from rampion import signals

    try:
        signals.occupy()
        if heard:
            signals.watch()
        from rampion import cli

        cli.main()
    except KeyboardInterrupt:
        signals.tell()
        raise SystemExit(signals.INTERRUPTED) from None
    finally:
        signals.done()


if __name__ == "__main__":
    main()
