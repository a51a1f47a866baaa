"""Command lines of the processes."""

from __future__ import annotations

import pytest

from kubeloop.arguments import Arguments


@pytest.fixture
def arguments() -> Arguments:
    parser = Arguments("apiserver", "Serves.")
    parser.add_argument("--port", type=int)
    return parser


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["--port=abc"], "error: argument --port: invalid int value: 'abc' (see --help)\n"),
        (["--nonsense"], "error: unrecognized arguments: --nonsense (see --help)\n"),
        (["--po=1"], "error: unrecognized arguments: --po=1 (see --help)\n"),
    ],
)
def test_a_wrong_flag_is_one_line_and_exit_code_1(
    arguments: Arguments, capsys: pytest.CaptureFixture[str], line: list[str], said: str
) -> None:
    """No usage is printed over the reason; half a flag is none."""
    with pytest.raises(SystemExit) as ended:
        arguments.parse_args(line)

    assert 1 == ended.value.code
    assert ("", said) == capsys.readouterr()


def test_a_right_one_is_read(arguments: Arguments) -> None:
    """The rest is argparse."""
    assert 8001 == arguments.parse_args(["--port=8001"]).port
