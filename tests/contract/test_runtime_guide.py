"""docs/writing-a-controller.md: the operator it shows works, and so does the test it shows."""

import re
from pathlib import Path
from typing import Any

GUIDE = Path(__file__).parents[2] / "docs" / "writing-a-controller.md"


def test_the_guides_operator_passes_the_guides_test() -> None:
    """Both code blocks run as they stand."""
    operator, test = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    module: dict[str, Any] = {"__name__": "greeter"}

    exec(compile(operator, "greeter.py", "exec"), module)
    exec(compile(test, "test_greeter.py", "exec"), module)

    module["test_a_changed_secret_is_repaired"]()
