"""python -m adminkit: the same as the command adminkit."""

import sys

from adminkit.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
