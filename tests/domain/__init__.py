"""Tests of the domain: pure functions, no store."""
