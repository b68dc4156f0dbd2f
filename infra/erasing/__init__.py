"""Erasing: what is named is planned, shown, taken out of the store for good, and written down in a receipt."""
