"""Texts as the task reads and prepares them."""

from multiway.data.samples import read_samples
from multiway_papers.language.config import LanguageConfig, TextOptions, TokenOptions
from multiway_papers.language.encode import LanguageState, learn_vocabulary
from multiway_papers.language.source import documents_of
from multiway_papers.language.task import TASK as task


def read_documents(source, options=None, *, later=False):
    """Sound documents of a source."""
    given = options or TextOptions()
    return read_samples(task.kind.label(source), lambda findings: documents_of(source, given, findings, later=later))


def prepare_texts(texts, **tokens):
    """Texts with their splits, and what the training ones say."""
    return task.prepare(LanguageConfig(tokens=TokenOptions(**tokens)), texts)


def bytewise(texts, context):
    """Documents without splits, each byte a token."""
    tokens = TokenOptions(tokenizer="bytes", context=context)
    state = LanguageState(vocabulary=learn_vocabulary(tokens, []), counts={})
    return task.prepare(LanguageConfig(tokens=tokens), texts, state).encoded.inputs
