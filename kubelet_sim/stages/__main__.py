"""`python -m kubelet_sim.stages SET`: prints the documents of a built-in set of stages."""

from __future__ import annotations

import argparse
import sys

from kubelet_sim.stages.sources import text_of_set
from kubeloop.apimachinery.stage_sets import SETS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m kubelet_sim.stages", description="Prints a set of stages.")
    parser.add_argument("set", choices=list(SETS))
    sys.stdout.write(text_of_set(parser.parse_args().set))
    return 0


if __name__ == "__main__":
    sys.exit(main())
