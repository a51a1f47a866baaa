"""What becomes of a server's warnings."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from kubeloop.client.warning_log import WarningLog, text_of


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ('299 - "v1 Endpoints is deprecated in v1.33+"', "v1 Endpoints is deprecated in v1.33+"),
        (r'299 - "unknown field \"spec.colour\" \\"', 'unknown field "spec.colour" \\'),
        ('299 kube-apiserver "later" "Tue, 15 Nov 1994 08:12:31 GMT"', "later"),
        ('199 - "of a proxy"', ""),
        ("299 - unquoted", ""),
    ],
)
def test_the_text_of_a_header(header: str, text: str) -> None:
    """Quoted as RFC 7234 has it; what is none of an API server has none."""
    assert text == text_of(header)


def test_each_text_is_told_once() -> None:
    """A reconcile that draws the same warning every time fills no log."""
    tell = WarningLog()
    with capture_logs() as lines:
        for number in (1, 1, 2, 1):
            tell(f'299 - "number {number}"')

    assert ["number 1", "number 2"] == [line["text"] for line in lines]
