"""`python -m apiserver`."""

import sys

from apiserver.main import main

sys.exit(main())
