"""Each token of a text from those before it."""

from typing import TYPE_CHECKING

from multiway.lazy import lazily

if TYPE_CHECKING:
    from multiway_papers.language.config import LanguageConfig as LanguageConfig
    from multiway_papers.language.estimator import LanguageModel as LanguageModel

__getattr__ = lazily(__name__)
