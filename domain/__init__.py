"""The domain: what happened and what it means, with the standard library alone."""
