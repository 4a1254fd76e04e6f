"""The task `language`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn

from multiway.auditing import AuditReport
from multiway.auditing.documents import audit_texts
from multiway.data import CheckReport
from multiway.data.language import PreparedText, check_texts, looks_like_text, match_texts, prepare_texts
from multiway.data.writing import check_target
from multiway.errors import ConfigError
from multiway.files import make_folder
from multiway.tasks.answers import Answer, written
from multiway.tasks.language import sections
from multiway.tasks.language.config import LanguageConfig
from multiway.tasks.language.facts import LanguageFacts, LanguageState
from multiway.tasks.language.fitting import build_model, fit_model, learn_state
from multiway.tasks.language.scoring import METRICS, Surprise, surprise_of
from multiway.tasks.language.writing import answers, continuations, token_table
from multiway.tasks.options import count, number, whole
from multiway.tasks.protocol import OURS, SPLITS, Context, Metric, Option, Row, Task
from multiway.tasks.run import Run
from multiway.tasks.scores import sentence_of
from multiway.training import History

WRITTEN, EXPLAINED = 32, 4
"""Tokens that `predict` writes after each text, and test documents that `explain` takes apart, if not said."""


class Language(Task[LanguageConfig, PreparedText, LanguageState]):
    """Each token of a text from those before it."""

    name = "language"
    page = sections
    config = LanguageConfig
    state = LanguageState
    facts = LanguageFacts
    unit = "document"
    sections_of_reading = ("read", "split", "tokens")
    fields_of_validation = (*Task.fields_of_validation, "tokens.tokenizer", "tokens.vocabulary", "tokens.context")
    options = (
        Option(name="column", field="read.column", help="Column of the text in a table or in JSON lines."),
        Option(
            name="documents", field="read.documents", choices=("auto", "file", "line", "paragraph", "heading"),
            help="What a document of a text file is.",
        ),
        Option(name="tokenizer", field="tokens.tokenizer", commands=("train",), help="bpe, bytes, a folder or name."),
        Option(name="vocabulary", field="tokens.vocabulary", commands=("train",), read=whole, help="Tokens of bpe."),
        Option(name="context", field="tokens.context", commands=("train",), read=whole, help="Tokens read at once."),
        Option(name="tokens", commands=("predict",), read=count, help="Tokens to write per text; 0 only scores."),
        Option(
            name="temperature", commands=("predict",), read=number,
            help="0 takes the most probable token, 1 draws as the model says; 0 if not given.",
        ),
        Option(name="draw", commands=("predict",), read=count, help="Seed of what is drawn."),
        Option(
            name="first", commands=("explain",), read=whole, help="Test documents to take apart; 4 if not given."
        ),
    )  # fmt: skip

    def recognises(self, source: Any) -> bool:
        """Prose in text files."""
        return looks_like_text(source)

    def prepare(
        self, config: LanguageConfig, source: Any, state: LanguageState | None = None, *, progress: bool = False
    ) -> PreparedText:
        """Documents, split and cut into tokens; later ones with the tokens of the training."""
        if state is not None:
            return match_texts(source, config.read, config.tokens, state.vocabulary)
        return prepare_texts(source, config.read, config.split, config.tokens)

    def check(self, config: LanguageConfig, source: Any) -> CheckReport:
        """What is in a text."""
        return check_texts(source, config.read, config.split)

    def audit(self, config: LanguageConfig, run: Run | None = None) -> AuditReport:
        """See `multiway.auditing.documents`."""
        prepared = self.prepare(config, self.locate(config.data or ""))
        return audit_texts(prepared, None if run is None else run.state.vocabulary)

    def learn(self, config: LanguageConfig, prepared: PreparedText) -> LanguageState:
        """The vocabulary, and how much the baselines have to hold."""
        return learn_state(config, prepared)

    def names(self, config: LanguageConfig, state: LanguageState) -> tuple[str, ...]:
        """The network and the baselines of the config."""
        return (OURS, *config.baselines)

    def build(self, config: LanguageConfig, state: LanguageState, name: str) -> nn.Module:
        """A network, or a baseline."""
        return build_model(config, state, name)

    def fit(self, run: Run, name: str, prepared: PreparedText, context: Context) -> History | dict[str, Any] | None:
        """See `multiway.tasks.language.fitting`."""
        return fit_model(run.models[name], prepared, run.config, context)

    def predict(self, run: Run, prepared: PreparedText, split: str) -> Surprise:
        """Nats of every window under every model."""
        return surprise_of(run.models, prepared, split)

    def score(self, run: Run, predictions: Surprise, split: str) -> list[Row]:
        """Perplexities, bits per byte and the loss."""
        return predictions.scores(split, run.config.draws)

    def tables(self, run: Run, predictions: Surprise, split: str) -> dict[str, pd.DataFrame]:
        """Nats document by document, and how some test documents are continued."""
        found = {"predictions": predictions.frame(split)}
        return found | ({"continuations": continuations(run.model, run.prepared)} if split == "test" else {})

    def describe(self, run: Run, prepared: PreparedText) -> dict[str, Any]:
        """How large each split is."""
        return {"splits": {split: prepared.counts(split) for split in SPLITS}}

    def metrics(self, config: LanguageConfig) -> tuple[Metric, ...]:
        """Perplexity of tokens decides."""
        return METRICS

    def sentence(self, run: Run) -> str:
        """Two test perplexities."""
        return sentence_of(run, "ppl", "word_ppl")

    def cell_facts(self, runs: Sequence[Run]) -> Row:
        """How many tokens train and test in a pass over the text."""
        return {f"{split}_tokens": runs[0].facts["splits"][split]["tokens"] for split in ("train", "test")}

    def answer(self, run: Run, data: str | None, out: Path | None, options: dict[str, Any]) -> Answer:
        """Each text with its continuation and how surprising it is."""
        if data is None:
            raise ConfigError("predict: a run of language needs texts. Give a file with --data.")
        check_target(out)
        later = self.prepare(run.config, self.locate(data), run.state)
        chosen = {"tokens": WRITTEN, "temperature": 0.0, "draw": 0} | options
        if chosen["temperature"] < 0:
            raise ConfigError(f"predict: temperature counts from 0. Got {chosen['temperature']}.")
        seed = chosen["draw"]
        frame = answers(run.model, later, tokens=chosen["tokens"], temperature=chosen["temperature"], seed=seed)
        return written(frame, out, later.notes)

    def explain(self, run: Run, out: Path | None, options: dict[str, Any]) -> Answer:
        """How surprising each token of the first test documents is."""
        if run.config.data is None:
            raise ConfigError(
                "this run was fitted on what was in memory, which is gone. Train on a file to explain it."
            )
        assert run.folder is not None
        prepared = self.prepare(run.config, self.locate(run.config.data))
        frame = token_table(run.models, prepared, "test", options.get("first", EXPLAINED))
        folder = out or run.folder.path / "explanation"
        make_folder(folder)
        means = ", ".join(f"{name} {frame[f'bits_{name}'].mean():.3f}" for name in run.models)
        notes = [f"mean bits of these tokens: {means}"]
        return written(frame, folder / "surprise.csv", notes)

    def sample(self, run: Run, prepared: PreparedText) -> tuple[Tensor | None, ...]:
        """Some validation windows of full length, or of the longest there are."""
        windows = prepared.windows_of("validation")
        longest = torch.from_numpy((windows.length == windows.length.max()).nonzero()[0])
        chosen = longest[torch.linspace(0, len(longest) - 1, min(16, len(longest))).round().long()]
        return (windows.gather(chosen)["inputs"],)


TASK = Language()
