"""What the report of a run on text says: texts continued, surprise by document, splits."""

from collections.abc import Iterator, Sequence

from multiway.report import text
from multiway.report.sections import PagePart, Table, Text
from multiway.tasks import pages
from multiway.tasks.candidate import words_of
from multiway.tasks.run import Run
from multiway.tasks.target_page import SplitPage

SHOWN = 10
"""Documents that the report lists."""
SUBJECT = pages.Subject(
    kicker="Report on a text",
    rows="tokens",
    setting=lambda run: {
        "Tokenizer": run.state.vocabulary.kind,
        "Vocabulary": f"{run.state.vocabulary.size:,}",
        "Context": str(run.config.tokens.context),
        "Model": run.config.model_name,
    },
    interval="over documents, or over windows where there are few (bootstrap)",
    about=(
        "Perplexities are comparable only between models that have the same vocabulary.",
        "Word perplexities and bits per byte are comparable between any models.",
    ),
)


def parts(runs: Sequence[Run]) -> Iterator[PagePart]:
    """Texts continued, how well the model knows the test, and its most surprising documents, of the first run."""
    written = runs[0].tables["continuations"]
    rows = [[str(cell).strip("\0") for cell in row] for row in written[["before", "continuation", "after"]].to_numpy()]
    heads = ["A test document, cut off", "as the model goes on", "as the document goes on"]
    side = ["The model goes on with the token that it takes for most probable, one after another."]
    table = Table(columns=heads, rows=rows, style="words stacked") if rows else None
    bits = _bits(SUBJECT, runs[0])
    content = [table, Text(words=bits, style="support") if table and bits else None]
    yield PagePart(id="continuations", title="Texts continued", side=side, content=content)
    yield _documents(runs[0])


def _documents(run: Run) -> PagePart:
    """The documents of the test that surprise the answer most, with what every model makes of them."""
    test = run.tables["predictions"].query("split == 'test'")
    wide = test.assign(rate=test["nats"] / test["tokens"]).pivot(index="document", columns="model", values="rate")
    most = wide.sort_values(run.answer.name, ascending=False).head(SHOWN)
    names = [name for name in run.models if name in most]
    rows = [[str(place), *(text.number(float(row[name]), 3) for name in names)] for place, row in most.iterrows()]
    side = [
        f"The {SHOWN} test documents that the answer expected least.",
        "A figure is the mean surprise at a token: the higher it is, the less the model expected the text.",
    ]
    words = words_of(run.task.candidates())
    table = Table(columns=["Document", *(words.get(name, name) for name in names)], rows=rows)
    return PagePart(id="documents", title="Surprise by document", side=side, content=[table])


def _headline(subject: pages.Subject, run: Run) -> str:
    """What the texts below it are; of a test without any, how many bits it takes."""
    return "The model continues a text like this." if len(run.tables["continuations"]) else _bits(subject, run)


def _bits(subject: pages.Subject, run: Run) -> str:
    """Bits per byte of the answer, compared with those of the best other candidate."""
    scores = subject.scores([run])
    bits = {name: scores.get(name, "bpb") for name in scores.models()}
    known = {name: score.number for name, score in bits.items() if score.value is not None}
    own = known.pop(run.answer.name, None)
    if own is None:
        return ""
    best = min(known, key=lambda name: known[name], default=None)
    rival = "" if best is None else f", against {text.number(known[best], 3)} by {scores.name_within(best)}"
    return f"The model needs {text.number(own, 3)} bits for a byte of text{rival}. Fewer is better."


PAGE = SplitPage(
    SUBJECT,
    parts,
    headline=_headline,
    total="words",
    shares=("words",),
    titles={"documents": "Documents", "words": "Words", "bytes": "Bytes", "tokens": "Tokens read"},
)
