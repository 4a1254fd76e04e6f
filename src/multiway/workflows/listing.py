"""The known data sets, without the tasks: a list costs no torch."""

from multiway.data import datasets


def list_datasets() -> list[dict[str, object]]:
    """One row per known data set: name, size, licence, and where it lies on this machine."""
    return datasets.describe()
