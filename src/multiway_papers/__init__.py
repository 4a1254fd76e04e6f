"""The papers: their tables as printed, a recipe for each cell, what measures them, and two tasks of their own.

`multiway` finds it by the entry points of `pyproject.toml`, as it would a package of anybody, and never names it.

`recipes/` has a grid of cells per table, `settings/` what a paper states of all its experiments, `tables/` every figure
in print, once, and `spaces/` the searches. `peers/` holds the other networks of these tables,
`protocols/` splits and labels as published, `networks/` those of the tasks that stand here, `stocks` and `language`.
"""

from typing import TYPE_CHECKING

from multiway.lazy import extend, lazily

if TYPE_CHECKING:
    from multiway_papers.cells import recipe_names as recipe_names
    from multiway_papers.cells import recipe_settings as recipe_settings
    from multiway_papers.cells import reproducible_names as reproducible_names
    from multiway_papers.printed import load_published as load_published
    from multiway_papers.printed import published_tables as published_tables
    from multiway_papers.queue import run_queue as run_queue
    from multiway_papers.reproducing import reproduce as reproduce
    from multiway_papers.rows import compare_published as compare_published
    from multiway_papers.rows import list_published as list_published
    from multiway_papers.rows import list_recipes as list_recipes
    from multiway_papers.rows import published as published

__getattr__ = lazily(__name__)

# Protocols of stocks are registered where the task asks for them.
extend("stock protocols", "multiway_papers.protocols.stocknet")
extend("stock protocols", "multiway_papers.protocols.stock_hot_code")
