"""`python -m tests.level_triggered --seeds 5000`: every loop's scenario under faults, for longer than `make test`."""

from __future__ import annotations

import sys

from kubeloop.testing import campaign
from tests.level_triggered.scenarios import SCENARIOS

if __name__ == "__main__":
    sys.exit(campaign.main("python -m tests.level_triggered", SCENARIOS))
