"""Set a report's content into one HTML file that needs nothing else: style, script, pictures inside."""

import base64
import functools
import hashlib
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from multiway.report import attention, charts, diagnostics, forecasts, summary, text
from multiway.report.content import ForecastReport
from multiway.report.palette import colours
from multiway.report.scores import score_tables
from multiway.report.verdict import supporting_sentences, verdict


def render_forecast_report(content: ForecastReport) -> str:
    """Write the report as one self-contained HTML file.

    It asks the network for nothing, opens from the disk, and a content security policy inside it forbids both
    requests and any script but its own. Names from data are escaped and cleaned of control characters.
    """
    numbers = colours(content)
    readouts = charts.Readouts()
    return render_page(
        "report.html.j2",
        content=content,
        verdict=verdict(content),
        supporting=supporting_sentences(content),
        facts=summary.facts(content),
        summary_bars=summary.summary_bars(content, numbers),
        tables=score_tables(content, numbers),
        choice=summary.choice(content, numbers),
        costs=summary.costs(content, numbers),
        timeline=diagnostics.timeline(content.splits) if content.splits else None,
        groups=forecasts.groups(content.forecasts, numbers, readouts),
        steps=diagnostics.step_chart(content.step_errors, numbers, readouts) if content.step_errors else None,
        step_models=summary.legend(content.step_errors.lines if content.step_errors else {}, numbers),
        variates=diagnostics.variate_bars(content.variate_errors, numbers) if content.variate_errors else None,
        open_bars=diagnostics.OPEN_BARS,
        coverage=diagnostics.coverage_lines(content.coverage),
        coverage_chart=diagnostics.coverage_chart(content.coverage, readouts),
        training=diagnostics.training_chart(content.training, readouts) if content.training else None,
        attention=attention.figures(content.maps),
        deletion=summary.deletion(content),
        readouts=readouts,
    )


def render_page(template: str, **values: Any) -> str:
    """Render a template of this package around the shared style and script."""
    script = _read("script.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = _environment().get_template(template)
    return page.render(
        style=Markup(_read("style.css")),
        script=Markup(script),
        script_hash=digest,
        **values,
    )


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("multiway.report", "."),
        autoescape=True,
        finalize=text.finalize,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["name"] = text.name
    environment.filters["script_json"] = text.script_json
    environment.globals["zip"] = zip
    return environment


def _read(file: str) -> str:
    return resources.files("multiway.report").joinpath(file).read_text(encoding="utf-8")
