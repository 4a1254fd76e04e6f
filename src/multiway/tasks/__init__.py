"""The only place where a model meets data."""

from multiway.lazy import extend

# Data of a kind that none recognises is for the first; what two recognise is for the earlier, as a folder is to volumes
# whatever lies in it.
extend("tasks", "multiway.tasks.forecasting.task:TASK", "forecast")
extend("tasks", "multiway.tasks.series.task:TASK", "series")
extend("tasks", "multiway.tasks.images.task:TASK", "images")
extend("tasks", "multiway.tasks.scans.task:CLASSES", "volumes")
extend("tasks", "multiway.tasks.scans.task:MASKS", "segment")
extend("tasks", "multiway.tasks.text.task:TASK", "text")
extend("tasks", "multiway.tasks.tabular.task:TASK", "tabular")
