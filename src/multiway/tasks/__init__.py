"""The only place where a model meets data."""
