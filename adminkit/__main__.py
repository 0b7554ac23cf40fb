"""python -m adminkit: the same as the command adminkit."""

import sys

from adminkit.cli.main import main

sys.exit(main())
