"""What a shell may complete: names of tasks, recipes, tables, spaces and data sets; the shell itself knows files."""

from collections.abc import Callable, Iterable

from multiway import papers, workflows
from multiway.cli import declared

Complete = Callable[[str], list[str]]


def _any_of(names: Callable[[], Iterable[str]]) -> Complete:
    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete


complete_data_sets = _any_of(lambda: declared.DATA_SETS)
complete_tasks = _any_of(lambda: declared.TASKS)
complete_recipes = _any_of(lambda: papers.recipe_names())
complete_published = _any_of(lambda: papers.published_tables())
complete_tables = _any_of(lambda: papers.reproducible_names())
complete_spaces = _any_of(lambda: workflows.space_names())
