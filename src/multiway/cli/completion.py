"""What a shell may complete: names of tasks, recipes, tables, spaces and data sets."""

from multiway.cli import declared


def data_sets(incomplete: str) -> list[str]:
    """Known data sets that begin so; the shell itself knows files."""
    return _beginning(declared.data_sets(), incomplete)


def tasks(incomplete: str) -> list[str]:
    """Tasks that begin so."""
    return _beginning(declared.tasks(), incomplete)


def recipes(incomplete: str) -> list[str]:
    """Recipes that begin so."""
    from multiway.recipes import recipe_names

    return _beginning(recipe_names(), incomplete)


def published(incomplete: str) -> list[str]:
    """Published tables that begin so."""
    from multiway.recipes import published_tables

    return _beginning(published_tables(), incomplete)


def tables(incomplete: str) -> list[str]:
    """Tables of recipes that begin so."""
    from multiway.recipes import reproducible_names

    return _beginning(reproducible_names(), incomplete)


def spaces(incomplete: str) -> list[str]:
    """Search spaces of the papers that begin so."""
    from multiway.recipes import space_names

    return _beginning(space_names(), incomplete)


def _beginning(names: tuple[str, ...] | list[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
