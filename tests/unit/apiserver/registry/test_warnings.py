"""The texts of Warning headers."""

from apiserver.registry.options import Warnings


class Text(str):
    """Counts how often one is compared with another."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Text.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_each_text_is_kept_once_in_order_however_many_there_are() -> None:
    """An object that deserves thousands of warnings costs no search through all of them for each."""
    warnings = Warnings()
    warnings.add("b", "a", "b")
    warnings.add("a", "c")
    assert warnings.texts == ["b", "a", "c"]
    warnings.add(*(Text(i) for i in range(1000)))
    assert (len(warnings.texts), Text.compared < 1000) == (1003, True)
