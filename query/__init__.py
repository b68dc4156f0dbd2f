"""Questions in, verbatim passages out."""
