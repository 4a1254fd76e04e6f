"""Classes of texts."""

from typing import TYPE_CHECKING

from multiway.lazy import lazily

if TYPE_CHECKING:
    from multiway.tasks.text.config import TextConfig as TextConfig
    from multiway.tasks.text.task import TextClassifier as TextClassifier

__getattr__ = lazily(__name__)
