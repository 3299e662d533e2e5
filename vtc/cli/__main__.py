"""`python -m vtc.cli` is the command `vtc`."""

import sys

from vtc.cli.command import main

sys.exit(main())
