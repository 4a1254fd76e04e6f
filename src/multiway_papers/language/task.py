"""The task `language`, and its config."""

import collections
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from multiway.auditing import AuditReport
from multiway.config import Plain
from multiway.data.matching import Far, far_share
from multiway.data.samples import Rows, Samples, Splits
from multiway.data.splitting import notes_on_draws
from multiway.tasks.answers import Answer, in_folder, write_answer
from multiway.tasks.candidate import discover
from multiway.tasks.choice import Evidence
from multiway.tasks.declarations import Encoding
from multiway.tasks.lifecycle import reread
from multiway.tasks.protocol import VALIDATION, Row, choose_by
from multiway.tasks.run import Run
from multiway.tasks.sample_task import describe_splits, find_later, list_tables, sample_task
from multiway.tasks.scores import sentence_of
from multiway.tasks.stored import SplitFacts
from multiway_papers.language import page
from multiway_papers.language.audit import audit_documents
from multiway_papers.language.config import LANGUAGE, LanguageConfig
from multiway_papers.language.encode import LanguageState, PreparedText, TextCounts, TokenDocuments, learn_language
from multiway_papers.language.scores import METRICS, Surprise, answers, continuations, surprise_of, token_table
from multiway_papers.language.source import Documents

LOST = (
    "The tokens lose text, as decoding them does not return it: bits per byte and perplexity of words are undefined. "
    "Tokens of bpe and bytes lose nothing."
)


def learn_state(config: LanguageConfig, samples: Samples[Documents], train: Rows) -> LanguageState:
    """The vocabulary, and how much each baseline has to hold of the training text."""
    return learn_language(config.tokens, samples.take(train), config.baselines)


def encode_samples(
    config: LanguageConfig, samples: Samples[Documents], state: LanguageState, *, progress: bool = False
) -> Samples[TokenDocuments]:
    """Documents as tokens of the training."""
    return samples.with_inputs(TokenDocuments.of(samples, state.vocabulary, config.tokens))


def list_remarks(samples: Samples[TokenDocuments], splits: Splits) -> Iterable[str]:
    """What was drawn, and a context that no training document fills."""
    yield from notes_on_draws(samples, splits)
    if not samples.inputs.is_whole:
        yield LOST
    longest, context = samples.inputs[splits["train"]].longest, samples.inputs.options.context
    if longest < context:
        yield (
            f"the longest training document has {longest:,} tokens, and the context is {context:,}: "
            f"nothing is learnt of places beyond"
        )


def audit_run(config: LanguageConfig, run: Run | None = None) -> AuditReport:
    """Whether text that is scored was there to be learnt from: documents, lines, and the vocabulary."""
    prepared = TASK.prepare(config, TASK.locate(config.data or ""))
    return audit_documents(prepared, None if run is None else run.state.vocabulary)


def measure_candidates(run: Run, prepared: PreparedText, *, refit: bool = True) -> Evidence:
    """Bits per byte of validation, by documents or by windows of few."""
    return predict_split(run, prepared, "validation").evidence()


def predict_split(run: Run, prepared: PreparedText, split: str) -> Surprise:
    """Nats of every window under every model."""
    return run.once(prepared, split, lambda: surprise_of(run.models, prepared.part(split).inputs, split))


def tables_of_split(run: Run, predictions: Surprise, split: str) -> dict[str, pd.DataFrame]:
    """Nats document by document, and how some test documents are continued."""
    more = {"continuations": continuations(run.answering, run.prepared.part(split).inputs)} if split == "test" else {}
    return list_tables(run, predictions, split) | more


def describe_run(run: Run, prepared: PreparedText, predictions: Surprise) -> Plain:
    """How much is in each split; of training text what is learnt from."""
    facts, training = describe_splits(run, prepared), prepared.part("train").inputs
    return {**facts, "splits": {**facts["splits"], "train": training.counts(training.learnt)}}


def facts_of_cell(runs: Sequence[Run]) -> Row:
    """How many tokens train and test in a pass over the text."""
    return {f"{split}_tokens": runs[0].facts["splits"][split]["tokens"] for split in ("train", "test")}


def find_far(run: Run, later: Samples[Documents]) -> Sequence[Far]:
    """Characters that training did not know, where most are."""
    known, counts = set(run.state.characters), collections.Counter("".join(later.inputs))
    unknown = sum(count for character, count in counts.items() if character not in known)
    return far_share(unknown, counts.total(), "characters") if known else ()


def answer_data(run: Run, data: str | None, out: Path | None, options: Plain) -> Answer:
    """Each text with its continuation and how surprising it is."""
    later = TASK.prepare(run.config, find_later(TASK, data, out), run.state, labelled=False)
    far = run.check_far(later.raw, later.raw.source, far=bool(options.get("far")))
    how = {name: options[name] for name in ("tokens", "temperature", "draw") if name in options}
    return write_answer(answers(run.answering, later.encoded.inputs, **how), out, (*later.notes, *far))


def explain_run(run: Run, out: Path | None, options: Plain) -> Answer:
    """How surprising each token of the first test documents is."""
    frame = token_table(run.models, reread(run).part("test").inputs, **options)
    means = ", ".join(f"{name} {frame[f'bits_{name}'].mean():.3f}" for name in run.models)
    notes = [f"mean bits of these tokens: {means}"]
    return in_folder(frame, run.explanation(out), "surprise.csv", notes)


TASK = sample_task(
    Encoding(learn=learn_state, encode=encode_samples, remarks=list_remarks),
    **LANGUAGE.parts,
    needs="texts. Give a file",
    state=LanguageState,
    facts=SplitFacts[TextCounts],
    fields_of_validation=(*VALIDATION, "tokens.tokenizer", "tokens.vocabulary", "tokens.context"),
    page=page.PAGE,
    metrics=lambda config: METRICS,
    candidates=partial(discover, "multiway_papers.language.candidates", "language"),
    audit=audit_run,
    choose=partial(choose_by, measure_candidates),
    predict=predict_split,
    tables=tables_of_split,
    describe=describe_run,
    sentence=lambda run: sentence_of(run, "ppl", "word_ppl"),
    cell_facts=facts_of_cell,
    far=find_far,
    answer=answer_data,
    explain=explain_run,
)
