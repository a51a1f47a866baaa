"""Operators to read, run and break; README.md is the index. They use only what anybody's operator may use."""
