"""The task `language`, and its config."""

import collections
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self, cast

import pandas as pd
from pydantic import model_validator
from torch import nn

from multiway.auditing import AuditReport
from multiway.config import Plain
from multiway.data.checking import Hook
from multiway.data.findings import Findings
from multiway.data.matching import Far, far_share
from multiway.data.samples import Rows, Samples, Splits
from multiway.data.sources.tables import source_name
from multiway.models import model_defaults
from multiway.tasks.answers import Answer, in_folder, write_answer
from multiway.tasks.choice import Evidence
from multiway.tasks.encoded_task import EncodedTask, SplitPredictions
from multiway.tasks.lifecycle import reread
from multiway.tasks.options import NetworkConfig, Sizes, read_count, read_number, read_whole, starting_from
from multiway.tasks.protocol import NETWORK, VALIDATION, Fitted, Option, Row
from multiway.tasks.run import Run
from multiway.tasks.stored import SplitFacts
from multiway.training import Objective, TrainingConfig
from multiway.training.losses import ClassLoss
from multiway_papers.language import page
from multiway_papers.language.audit import audit_documents
from multiway_papers.language.encode import (
    LanguageState,
    PreparedText,
    TextCounts,
    TokenDocuments,
    TokenOptions,
    learn_language,
)
from multiway_papers.language.scores import METRICS, Surprise, answers, continuations, nats_of, surprise_of, token_table
from multiway_papers.language.source import Documents, TextOptions, TextSplit, cut, documents_of, looks_like_text
from multiway_papers.language.windows import TokenWindows
from multiway_papers.networks.next_token import KneserNey

TRAINING: Plain = {"loss": "cross_entropy", "batch_size": 32, "learning_rate": 3e-3, "weight_decay": 0.1}
"""Fields of `TrainingConfig` where text differs from a forecast."""
UNKNOWN = "<unk>"
"""What a word-level set such as WikiText writes for a rare word."""
SHARED = "shares of the text in its order"


LOST = (
    "The tokens lose text, as decoding them does not return it: bits per byte and perplexity of words are undefined. "
    "Tokens of bpe and bytes lose nothing."
)


class LanguageConfig(NetworkConfig):
    """A run of the task `language`; stored in its folder. Intervals are over documents, or over windows of few."""

    NETWORK, NETWORKS = "causal_transformer", ("causal_transformer", "opt_*")
    BY_DATA: ClassVar[Mapping[str, Sizes]] = {"vocabulary": 2, "context": 2}

    read: TextOptions = TextOptions()
    split: TextSplit = TextSplit()
    tokens: TokenOptions = TokenOptions()
    baselines: tuple[Literal["unigram", "trigram"], ...] = ("unigram", "trigram")
    """Kneser-Ney models of single tokens, and of three in a row."""
    training: Annotated[TrainingConfig, starting_from(TRAINING)] = TrainingConfig.parse(TRAINING)
    """A sample is a window of tokens."""

    @model_validator(mode="after")
    def _loss_fits(self) -> Self:
        if self.training.loss != "cross_entropy":
            raise ValueError("training.loss must be cross_entropy, which is what tokens are said by")
        return self

    def network_fields(self, **set_by_data: Sizes) -> Plain:
        """Fields of `create_model` on this text; a named size keeps its rows of the vocabulary, used or not."""
        rows = max(set_by_data["vocabulary"], model_defaults(self.model_name).get("vocabulary", 0))
        return super().network_fields(vocabulary=rows, context=self.tokens.context)


class Language(EncodedTask[LanguageConfig, Documents, LanguageState]):
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
    counting, counted_by = ("unigram", "trigram"), "word_ppl"
    fields_of_validation = (*VALIDATION, "tokens.tokenizer", "tokens.vocabulary", "tokens.context")
    options = (
        Option(name="column", field="read.column", help="Column of the text in a table or in JSON lines."),
        Option(
            name="documents",
            field="read.documents",
            choices=("auto", "file", "line", "paragraph", "heading"),
            help="What a document of a text file is.",
        ),
        Option(
            name="tokenizer",
            field="tokens.tokenizer",
            commands=("train", "audit"),
            help="bpe, bytes, a folder or name.",
        ),
        Option(
            name="vocabulary",
            field="tokens.vocabulary",
            commands=("train", "audit"),
            read=read_whole,
            help="Tokens of bpe.",
        ),
        Option(
            name="context",
            field="tokens.context",
            commands=("train", "audit"),
            read=read_whole,
            help="Tokens read at once.",
        ),
        Option(name="tokens", commands=("predict",), read=read_count, help="Tokens to write per text; 0 only scores."),
        Option(
            name="temperature",
            commands=("predict",),
            read=read_number,
            help="0 takes the most probable token, 1 draws as the model says; 0 if not given.",
        ),
        Option(name="draw", commands=("predict",), read=read_count, help="Seed of what is drawn."),
        Option(
            name="first",
            commands=("explain",),
            read=read_whole,
            help="Test documents to take apart; 4 if not given.",
        ),
    )

    def recognises(self, source: object) -> bool:
        """Prose in text files."""
        return looks_like_text(source)

    def called(self, source: object) -> str:
        """The file, or that there are texts."""
        return source_name(source) if isinstance(source, str | Path) else "texts"

    def read(
        self,
        config: LanguageConfig,
        source: object,
        findings: Findings,
        state: LanguageState | None = None,
        *,
        has_target: bool = True,
    ) -> Samples[Documents]:
        """Documents; a single one is cut for the splits of the training."""
        texts = documents_of(source, config.read, findings, later=state is not None)
        return texts if state is not None else cut(texts, config.split)

    def learnt(self, config: LanguageConfig, samples: Samples[Documents], train: Rows) -> LanguageState:
        """The vocabulary, and how much each baseline has to hold of the training text."""
        return learn_language(config.tokens, samples.take(train), config.baselines)

    def encode(
        self, config: LanguageConfig, samples: Samples[Documents], state: LanguageState, *, progress: bool = False
    ) -> Samples[TokenDocuments]:
        """Documents as tokens of the training."""
        return samples.with_inputs(TokenDocuments.of(samples, state.vocabulary, config.tokens))

    def described(self, samples: Samples[Documents]) -> Plain:
        """What a check says first of documents; one that was cut for its splits counts as one."""
        documents = ["".join(samples.inputs)] if samples.sizes is None else samples.inputs
        counts = [len(text.split()) for text in documents]
        return {
            "documents": len(documents),
            "characters": f"{sum(map(len, documents)):,}",
            "words": f"{sum(counts):,}",
            "different words": f"{len({word for text in documents for word in text.split()}):,}",
            "words of a document": f"{min(counts):,} to {max(counts):,}",
            "split by": SHARED if samples.official is None or samples.sizes is None else "the names of the files",
        }

    def hooks(self, config: LanguageConfig) -> Sequence[Hook]:
        """Words that were replaced before."""
        return (check_unknown,)

    def remarks(self, samples: Samples[TokenDocuments], splits: Splits) -> Iterable[str]:
        """What was drawn, and a context that no training document fills."""
        yield from super().remarks(samples, splits)
        if not samples.inputs.is_whole:
            yield LOST
        longest, context = samples.inputs[splits["train"]].longest, samples.inputs.options.context
        if longest < context:
            yield (
                f"the longest training document has {longest:,} tokens, and the context is {context:,}: "
                f"nothing is learnt of places beyond"
            )

    def audit(self, config: LanguageConfig, run: Run | None = None) -> AuditReport:
        """Whether text that is scored was there to be learnt from: documents, lines, and the vocabulary."""
        prepared = self.prepare(config, self.locate(config.data or ""))
        return audit_documents(prepared, None if run is None else run.state.vocabulary)

    def build(self, config: LanguageConfig, state: LanguageState, name: str) -> nn.Module:
        """A network, or a baseline."""
        size = state.vocabulary.size
        return config.network(vocabulary=size) if name == NETWORK else KneserNey.sized(size, state.counts[name])

    def objective(self, run: Run, training: Samples[TokenDocuments]) -> Objective:
        """Cross-entropy of every token that is no filling."""
        return ClassLoss(smoothing=run.config.training.label_smoothing)

    def learnt_from(self, run: Run, training: Samples[TokenDocuments]) -> TokenWindows:
        """Windows of the text."""
        windows: TokenWindows = training.inputs.learnt
        return windows

    def checked_on(self, run: Run, validation: Samples[TokenDocuments]) -> TokenWindows:
        """Windows of the text."""
        windows: TokenWindows = validation.inputs.windows
        return windows

    def fit_baseline(
        self, model: nn.Module, run: Run, training: Samples[TokenDocuments], validation: Samples[TokenDocuments]
    ) -> Fitted:
        """By counting."""
        cast(KneserNey, model).fit(training.inputs.learnt.stretches())
        return None

    def loss_of(self, run: Run, name: str, validation: Samples[TokenDocuments]) -> float:
        """Nats per token."""
        return float(nats_of(run.models[name], validation.inputs.windows).mean())

    def evidence(self, run: Run, prepared: PreparedText, *, refit: bool = True) -> Evidence:
        """Bits per byte of validation, by documents or by windows of few."""
        return self.predict(run, prepared, "validation").evidence()

    def predict(self, run: Run, prepared: PreparedText, split: str) -> Surprise:
        """Nats of every window under every model."""
        return run.once(prepared, split, lambda: surprise_of(run.models, prepared.part(split).inputs, split))

    def tables(self, run: Run, predictions: SplitPredictions, split: str) -> dict[str, pd.DataFrame]:
        """Nats document by document, and how some test documents are continued."""
        more = (
            {"continuations": continuations(run.answering, run.prepared.part(split).inputs)} if split == "test" else {}
        )
        return super().tables(run, predictions, split) | more

    def describe(self, run: Run, prepared: PreparedText) -> Plain:
        """How much is in each split; of training text what is learnt from."""
        facts, training = super().describe(run, prepared), prepared.part("train").inputs
        return {**facts, "splits": {**facts["splits"], "train": training.counts(training.learnt)}}

    def cell_facts(self, runs: Sequence[Run]) -> Row:
        """How many tokens train and test in a pass over the text."""
        return {f"{split}_tokens": runs[0].facts["splits"][split]["tokens"] for split in ("train", "test")}

    def far(self, run: Run, later: Samples[Documents]) -> Sequence[Far]:
        """Characters that training did not know, where most are."""
        known, counts = set(run.state.characters), collections.Counter("".join(later.inputs))
        unknown = sum(count for character, count in counts.items() if character not in known)
        return far_share(unknown, counts.total(), "characters") if known else ()

    def answer(self, run: Run, data: str | None, out: Path | None, options: Plain) -> Answer:
        """Each text with its continuation and how surprising it is."""
        later = self.unlabelled(run.config, self.later(data, out), run.state)
        far = run.guarded(later.raw, later.raw.source, far=bool(options.get("far")))
        how = {name: options[name] for name in ("tokens", "temperature", "draw") if name in options}
        return write_answer(answers(run.answering, later.encoded.inputs, **how), out, (*later.notes, *far))

    def explain(self, run: Run, out: Path | None, options: Plain) -> Answer:
        """How surprising each token of the first test documents is."""
        frame = token_table(run.models, reread(run).part("test").inputs, **options)
        means = ", ".join(f"{name} {frame[f'bits_{name}'].mean():.3f}" for name in run.models)
        notes = [f"mean bits of these tokens: {means}"]
        return in_folder(frame, run.explanation(out), "surprise.csv", notes)


def check_unknown(texts: Samples[Documents], findings: Findings) -> None:
    """Note rare words that were replaced before: a score over them is easier than one over the words."""
    count = sum(text.count(UNKNOWN) for text in texts.inputs)
    if count:
        rule = f"{count:,} words are written {UNKNOWN}, as rare ones were replaced"
        findings.add("unknown", "note", rule, "Scores are comparable only with those on the same text.")


TASK = Language()
