"""Measurements: `make bench` for the whole stack, and one module for each part measured alone."""
