"""`python -m lopsided` is the `lopsided` command."""

import sys

from lopsided.cli.main import main

sys.exit(main())
