"""What the report of a forecasting run says of the choice between ridge and network."""

from collections.abc import Sequence

from multiway.report import text
from multiway.report.sections import Cell, Section, Table
from multiway.tasks.protocol import OURS, Row
from multiway.tasks.run import Run

RULE = (
    "The blend's validation error is a parabola in the network's share. Validation is one stretch of time, so the "
    "share goes only part of the way from a prior to the lowest point, the less the more that point differs between "
    "blocks of windows that share no rows, and the smaller the prior. That is one half, or twice what ridge saves of "
    "the last value's error if this is less. On validation the blend costs at most 2 % more than ridge. Earlier steps "
    "have shorter blocks and more of them, so every part of the horizon has its own share."
)


def choice_tables(run: Run, colours: dict[str, int]) -> list[Section]:
    """Validation errors of ridge, the network and the blend."""
    chosen = run.facts["selection"]
    errors = {"ridge": chosen["floor_error"], "network": chosen["network_error"], OURS: chosen["blend_error"]}
    decimals = text.decimals_for(errors.values())
    rows: list[list[Cell | str]] = [
        [
            Cell(model, swatch=f"s{colours.get(model, 4)}", tag="chosen" if model == OURS else ""),
            text.number(error, decimals),
            "" if model == "ridge" else text.signed(error - errors["ridge"], decimals),
            Cell(f"{chosen['weight']:.0%} network in the mean" if model == OURS else "", style="left"),
        ]
        for model, error in errors.items()
    ]
    columns: list[Cell | str] = ["Model", "MSE", "against ridge", Cell("Remark", style="left")]
    return [Table(title="The choice on validation", columns=columns, rows=rows, strong=[2]), _shares(chosen["shares"])]


def _shares(shares: Sequence[Row]) -> Table:
    """The network's share from the first steps to the last, and what it rests on."""
    starts = [0, *(share["stop"] for share in shares)]
    rows: list[list[Cell | str]] = [
        [
            f"{start + 1} to {share['stop']}",
            f"{share['weight']:.0%}",
            f"{share['prior']:.0%}",
            text.number(share["optimum"], 2),
            "" if share["deviation"] is None else text.number(share["deviation"], 2),
            str(share["blocks"]),
        ]
        for start, share in zip(starts, shares, strict=False)
    ]
    heads = ["Steps", "Share of the network", "Prior", "Best on validation", "Standard error", "Blocks"]
    return Table(title="Share of the network by step", columns=heads, rows=rows)
