"""What the report of a run on text says: texts continued, surprise by document, splits."""

import functools
from collections.abc import Iterator, Sequence

from multiway.report import text
from multiway.report.scores import verdict
from multiway.report.sections import Part, Table
from multiway.tasks import pages
from multiway.tasks.comparing import comparison
from multiway.tasks.page_parts import split_table
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run

WORDS = {"unigram": "single tokens", "trigram": "three tokens (Kneser-Ney)"}
SHOWN = 10
"""Documents that the report lists."""
SUBJECT = pages.Subject(
    kicker="Report on a text", rows="tokens", selected_by=lambda run: "lowest validation loss", models=WORDS,
    setting=lambda run: {
        "Tokenizer": run.state.vocabulary.kind, "Vocabulary": f"{run.state.vocabulary.size:,}",
        "Context": str(run.config.tokens.context), "Model": run.config.model_name,
    },
    interval="over documents, or over windows where there are few (bootstrap)",
    about=("Perplexities of tokens compare within a vocabulary; those of words, and bits per byte, with any.",),
)  # fmt: skip
compare = functools.partial(comparison, SUBJECT)


def report(runs: Sequence[Run]) -> str:
    """The HTML report of runs that differ in their seed; the first is shown in detail."""
    titles = {"documents": "Documents", "words": "Words", "bytes": "Bytes", "tokens": "Tokens read"}
    splits = split_table(runs[0].facts["splits"], titles, total="words", shares=("words",))
    side = ["Fitted on the first, chosen on the second, scored once on the last."]
    summary = pages.Summary(
        verdict=verdict(SUBJECT.scores(runs)), splits=Part(id="splits", title="Splits", side=side, content=[splits])
    )
    return pages.report(SUBJECT, runs, summary, _parts(runs[0]))


def _parts(run: Run) -> Iterator[Part]:
    written = run.tables["continuations"]
    rows = [[str(cell) for cell in row] for row in written[["before", "continuation", "after"]].to_numpy()]
    table = Table(
        columns=["A test document, cut off", "as the model goes on", "as it goes on"], rows=rows, style="words"
    )
    side = ["What the model takes for most probable, token after token."]
    yield Part(id="continuations", title="Texts continued", side=side, content=[table])
    yield _documents(run)


def _documents(run: Run) -> Part:
    """The most surprising test documents, with what the best baseline makes of them."""
    test = run.tables["predictions"].query("split == 'test'")
    wide = test.assign(rate=test["nats"] / test["tokens"]).pivot(index="document", columns="model", values="rate")
    most = wide.sort_values(OURS, ascending=False).head(SHOWN)
    names = [name for name in run.models if name in most]
    rows = [[str(place), *(text.number(float(row[name]), 3) for name in names)] for place, row in most.iterrows()]
    heads = [OURS if name == OURS else WORDS[name] for name in names]
    side = [f"Nats per token; the {SHOWN} test documents that surprise the network most, or all of fewer."]
    table = Table(columns=["Document", *heads], rows=rows)
    return Part(id="documents", title="Surprise by document", side=side, content=[table])
