"""What a shell may complete: names of tasks, recipes, tables, spaces and data sets."""

from multiway.cli import declared


def complete_data_sets(incomplete: str) -> list[str]:
    """Known data sets that begin so; the shell itself knows files."""
    return _beginning(declared.DATA_SETS, incomplete)


def complete_tasks(incomplete: str) -> list[str]:
    """Tasks that begin so."""
    return _beginning(declared.TASKS, incomplete)


def complete_recipes(incomplete: str) -> list[str]:
    """Recipes that begin so."""
    from multiway.papers import recipe_names

    return _beginning(recipe_names(), incomplete)


def complete_published(incomplete: str) -> list[str]:
    """Published tables that begin so."""
    from multiway.papers import published_tables

    return _beginning(published_tables(), incomplete)


def complete_tables(incomplete: str) -> list[str]:
    """Tables of recipes that begin so."""
    from multiway.papers import reproducible_names

    return _beginning(reproducible_names(), incomplete)


def complete_spaces(incomplete: str) -> list[str]:
    """Search spaces of the papers that begin so."""
    from multiway.workflows import space_names

    return _beginning(space_names(), incomplete)


def _beginning(names: tuple[str, ...] | list[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
