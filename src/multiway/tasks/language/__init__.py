"""Each token of a text from those before it."""

from multiway.tasks.language.config import LanguageConfig as LanguageConfig
from multiway.tasks.language.estimator import LanguageModel as LanguageModel
