"""The task `language`."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pandas as pd
from torch import nn

from multiway.auditing import AuditReport
from multiway.config import Plain
from multiway.data import CheckReport
from multiway.data.checking import check_samples
from multiway.data.findings import Findings
from multiway.data.samples import Samples
from multiway.models import create_model
from multiway.models.next_token import ORDERS, KneserNey, table_sizes
from multiway.tasks.answers import Answer, in_folder, written
from multiway.tasks.choice import Evidence
from multiway.tasks.language import page
from multiway.tasks.language.audit import audit_documents
from multiway.tasks.language.config import LanguageConfig
from multiway.tasks.language.encode import LanguageState, PreparedText, TextCounts, prepare_texts
from multiway.tasks.language.scores import METRICS, Surprise, surprise_of
from multiway.tasks.language.source import Documents, called, cut, documents_of, looks_like_text
from multiway.tasks.language.windows import TokenWindows
from multiway.tasks.language.writing import answers, continuations, token_table
from multiway.tasks.lifecycle import reread
from multiway.tasks.options import read_count, read_number, read_whole
from multiway.tasks.protocol import OURS, Fitted, Option, Row
from multiway.tasks.run import Run
from multiway.tasks.split_task import SplitPredictions, SplitTask
from multiway.tasks.stored import SplitFacts
from multiway.training import Objective
from multiway.training.losses import ClassLoss

UNKNOWN = "<unk>"
"""What a word-level set such as WikiText writes for a rare word."""
SHARED = "shares of the text in its order"


class Language(SplitTask[LanguageConfig, PreparedText, LanguageState, TokenWindows]):
    """Each token of a text from those before it."""

    name = "language"
    example = "--data stories.txt"
    needs = "texts. Give a file"
    page = page.PAGE
    config = LanguageConfig
    state = LanguageState
    facts = SplitFacts[TextCounts]
    scored = METRICS
    told = ("ppl", "word_ppl")
    sampled = 16
    unit = "document"
    fields_of_validation = (*SplitTask.fields_of_validation, "tokens.tokenizer", "tokens.vocabulary", "tokens.context")
    options = (
        Option(name="column", field="read.column", help="Column of the text in a table or in JSON lines."),
        Option(
            name="documents", field="read.documents", choices=("auto", "file", "line", "paragraph", "heading"),
            help="What a document of a text file is.",
        ),
        Option(name="tokenizer", field="tokens.tokenizer", commands=("train",), help="bpe, bytes, a folder or name."),
        Option(
            name="vocabulary", field="tokens.vocabulary", commands=("train",), read=read_whole, help="Tokens of bpe.",
        ),
        Option(
            name="context", field="tokens.context", commands=("train",), read=read_whole, help="Tokens read at once.",
        ),
        Option(name="tokens", commands=("predict",), read=read_count, help="Tokens to write per text; 0 only scores."),
        Option(
            name="temperature", commands=("predict",), read=read_number,
            help="0 takes the most probable token, 1 draws as the model says; 0 if not given.",
        ),
        Option(name="draw", commands=("predict",), read=read_count, help="Seed of what is drawn."),
        Option(
            name="first", commands=("explain",), read=read_whole, help="Test documents to take apart; 4 if not given.",
        ),
    )  # fmt: skip

    def recognises(self, source: object) -> bool:
        """Prose in text files."""
        return looks_like_text(source)

    def prepare(
        self, config: LanguageConfig, source: object, state: LanguageState | None = None, *, progress: bool = False
    ) -> PreparedText:
        """Documents, split and cut into tokens; later ones with the tokens of the training."""
        used = None if state is None else state.vocabulary
        return prepare_texts(source, config.read, config.split, config.tokens, used)

    def check(self, config: LanguageConfig, source: object) -> CheckReport:
        """What is in a text."""

        def read(findings: Findings) -> Samples[Documents]:
            return cut(documents_of(source, config.read, findings), config.split)

        return check_samples(called(source), read, config.split, facts=described, hooks=[check_unknown])

    def audit(self, config: LanguageConfig, run: Run | None = None) -> AuditReport:
        """Whether text that is scored was there to be learnt from: documents, lines, and the vocabulary."""
        prepared = self.prepare(config, self.locate(config.data or ""))
        return audit_documents(prepared, None if run is None else run.state.vocabulary)

    def learn(self, config: LanguageConfig, prepared: PreparedText) -> LanguageState:
        """The vocabulary, and how much each baseline has to hold of the training text."""
        prepared.check_context()
        documents, vocabulary = prepared.part("train").stretches(), prepared.vocabulary
        counts = {str(name): table_sizes(documents, ORDERS[name], vocabulary.size) for name in config.baselines}
        return LanguageState(vocabulary=vocabulary, counts=counts)

    def build(self, config: LanguageConfig, state: LanguageState, name: str) -> nn.Module:
        """A network, or a baseline."""
        size = state.vocabulary.size
        if name == OURS:
            return create_model(config.model_name, **config.network_fields(size))
        return KneserNey.sized(size, state.counts[name])

    def objective(self, run: Run, training: TokenWindows) -> Objective:
        """Cross-entropy of every token that is no filling."""
        return ClassLoss(smoothing=run.config.training.label_smoothing)

    def fit_baseline(self, model: nn.Module, run: Run, training: TokenWindows, validation: TokenWindows) -> Fitted:
        """By counting."""
        cast(KneserNey, model).fit(training.stretches())
        return None

    def evidence(self, run: Run, prepared: PreparedText, *, refit: bool = True) -> Evidence:
        """Bits per byte of validation, by documents or by windows of few."""
        return self.predict(run, prepared, "validation").evidence()

    def predict(self, run: Run, prepared: PreparedText, split: str) -> Surprise:
        """Nats of every window under every model."""
        return run.once(prepared, split, lambda: surprise_of(run.models, prepared, split))

    def tables(self, run: Run, predictions: SplitPredictions, split: str) -> dict[str, pd.DataFrame]:
        """Nats document by document, and how some test documents are continued."""
        more = {"continuations": continuations(run.answering, run.prepared)} if split == "test" else {}
        return super().tables(run, predictions, split) | more

    def cell_facts(self, runs: Sequence[Run]) -> Row:
        """How many tokens train and test in a pass over the text."""
        return {f"{split}_tokens": runs[0].facts["splits"][split]["tokens"] for split in ("train", "test")}

    def answer(self, run: Run, data: str | None, out: Path | None, options: Plain) -> Answer:
        """Each text with its continuation and how surprising it is."""
        later = self.prepare(run.config, self.later(data, out), run.state)
        how = {name: options[name] for name in ("tokens", "temperature", "draw") if name in options}
        return written(answers(run.answering, later, **how), out, later.notes)

    def explain(self, run: Run, out: Path | None, options: Plain) -> Answer:
        """How surprising each token of the first test documents is."""
        frame = token_table(run.models, reread(run), "test", **options)
        means = ", ".join(f"{name} {frame[f'bits_{name}'].mean():.3f}" for name in run.models)
        notes = [f"mean bits of these tokens: {means}"]
        return in_folder(frame, run.explanation(out), "surprise.csv", notes)


def described(texts: Samples[Documents]) -> Plain:
    """What a check says first of documents; one that was cut for its splits counts as one."""
    documents = ["".join(texts.inputs)] if texts.sizes is None else texts.inputs
    counts = [len(text.split()) for text in documents]
    return {
        "documents": len(documents),
        "characters": f"{sum(map(len, documents)):,}",
        "words": f"{sum(counts):,}",
        "different words": f"{len({word for text in documents for word in text.split()}):,}",
        "words of a document": f"{min(counts):,} to {max(counts):,}",
        "split by": SHARED if texts.official is None or texts.sizes is None else "the names of the files",
    }


def check_unknown(texts: Samples[Documents], findings: Findings) -> None:
    """Note rare words that were replaced before: a score over them is easier than one over the words."""
    count = sum(text.count(UNKNOWN) for text in texts.inputs)
    if count:
        rule = f"{count:,} words are written {UNKNOWN}, as rare ones were replaced"
        findings.add("unknown", "note", rule, "Scores are comparable only with those on the same text.")


TASK = Language()
