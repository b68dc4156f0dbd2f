"""The watch: `chronofile watch`, which captures changes as they happen."""
