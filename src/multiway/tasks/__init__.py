"""The only place where a model meets data."""

from multiway.lazy import extend

# Data of a kind that none recognises is for the first; what two recognise is for the earlier, as a folder is to volumes
# whatever lies in it.
extend("tasks", "multiway.tasks.forecasting.task", "forecast")
extend("tasks", "multiway.tasks.series.task", "series")
extend("tasks", "multiway.tasks.images.task", "images")
extend("tasks", "multiway.tasks.scans.classes", "volumes")
extend("tasks", "multiway.tasks.scans.masks", "segment")
extend("tasks", "multiway_papers.stocks.task", "stocks")
extend("tasks", "multiway.tasks.text.task", "text")
extend("tasks", "multiway_papers.language.task", "language")
extend("tasks", "multiway.tasks.tabular.task", "tabular")
