"""The texts of selectors, read: ?labelSelector= and ?fieldSelector=."""

from __future__ import annotations

from functools import lru_cache

from kubeloop.apimachinery import field_selectors, selector_text
from kubeloop.apimachinery.errors import BadRequest
from kubeloop.apimachinery.field_selectors import FieldSelector
from kubeloop.apimachinery.selectors import Selector, SelectorError

# Clients repeat a handful of selectors for ever; parsing one costs more than a watch event.
_PARSED = 1024


def parse_selectors(label_selector: str, field_selector: str) -> tuple[Selector, FieldSelector]:
    """What two texts select; BadRequest where one cannot be read, the label selector's complaint first."""
    try:
        return _labels(label_selector), _fields(field_selector)
    except SelectorError as error:
        raise BadRequest(str(error)) from error


@lru_cache(_PARSED)
def _labels(text: str) -> Selector:
    return selector_text.parse(text)


@lru_cache(_PARSED)
def _fields(text: str) -> FieldSelector:
    return field_selectors.parse(text)
