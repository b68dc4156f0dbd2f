"""Chronofile: local-first, event-sourced memory for AI agents."""
