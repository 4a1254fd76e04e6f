"""Each token of a text from those before it."""

from multiway.tasks.language.estimator import LanguageModel as LanguageModel
from multiway.tasks.language.task import LanguageConfig as LanguageConfig
