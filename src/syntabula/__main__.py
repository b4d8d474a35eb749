"""`python -m syntabula` is the command `syntabula`."""

import sys

from syntabula.cli import main

sys.exit(main())
