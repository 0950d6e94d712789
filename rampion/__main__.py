"""python -m rampion, and the command rampion."""

from rampion.cli import main as main

if __name__ == "__main__":
    main()
