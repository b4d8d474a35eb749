"""`python -m syntabula` is the command `syntabula`."""

import sys

from syntabula.cli.main import main

sys.exit(main())
