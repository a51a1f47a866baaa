"""The versions of the built-in kinds, as admission plugins are given them: read-only, one for all tests."""

from __future__ import annotations

from apiserver.registry.catalog import Catalog
from apiserver.registry.forms import CatalogForms
from apiserver.resources.catalog import KINDS
from apiserver.schema.definitions import Schema

FORMS = CatalogForms(Catalog.of(KINDS), Schema.load())
