"""Each token of a text from those before it."""

from multiway_papers.language.estimator import LanguageModel as LanguageModel
from multiway_papers.language.task import LanguageConfig as LanguageConfig
