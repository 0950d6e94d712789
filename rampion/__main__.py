"""python -m rampion"""

from rampion.cli import main

if __name__ == "__main__":
    main()
