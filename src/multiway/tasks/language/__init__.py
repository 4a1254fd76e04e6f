"""Each token of a text from those before it."""

from typing import TYPE_CHECKING

from multiway.lazy import lazily

if TYPE_CHECKING:
    from multiway.tasks.language.estimator import LanguageModel as LanguageModel
    from multiway.tasks.language.config import LanguageConfig as LanguageConfig

__getattr__ = lazily(__name__)
