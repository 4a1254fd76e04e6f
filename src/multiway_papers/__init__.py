"""The papers' own room: their tables as printed, a recipe per cell, what measures them, and the equations as printed.

`recipes/` has a grid of cells per table, `settings/` what a paper states of all its experiments, `tables/` every figure
in print, once, and `spaces/` the searches. `peers/` holds the other networks of these tables,
`protocols/` splits and labels as published, `reference/` the equations, apart from the code that they test. Nothing of
the product imports this room: it registers recipes, spaces, models and protocols below it.
"""

from typing import TYPE_CHECKING

from multiway.lazy import lazily

if TYPE_CHECKING:
    from multiway_papers.cells import recipe_names as recipe_names
    from multiway_papers.cells import recipe_settings as recipe_settings
    from multiway_papers.cells import reproducible_names as reproducible_names
    from multiway_papers.printed import load_published as load_published
    from multiway_papers.printed import published_tables as published_tables
    from multiway_papers.reproducing import reproduce as reproduce
    from multiway_papers.rows import compare_published as compare_published
    from multiway_papers.rows import list_published as list_published
    from multiway_papers.rows import list_recipes as list_recipes
    from multiway_papers.rows import published as published

__getattr__ = lazily(__name__)
