"""One YAML file per cell of a published table."""
