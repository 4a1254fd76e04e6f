"""Forecasts of several networks by their mean, and of all candidates by the weights that validation gave them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from multiway.models.recursions import Recursion
from multiway.models.regression import Regression, Regressors
from multiway.models.windows import LinearFloor, fill_gaps


class MeanOfNetworks(nn.Module):
    """The mean of the forecasts of K networks that started apart, y = 1/K Σ_k y_k.

    In training every network answers for itself: its forecasts stand one after another along the batch, so that each
    learns from its own errors and none from those of the mean. In evaluation it is the mean.

    Shape:
        past `(batch, lookback, variates)`; forecast `(batch, horizon, variates)`, in training `(K batch, …)`.

    Cost:
        K times that of one network.
    """

    def __init__(self, networks: Sequence[nn.Module]) -> None:
        super().__init__()
        self.networks = nn.ModuleList(networks)
        self.takes_covariates = any(getattr(network, "takes_covariates", False) for network in networks)

    def forward(
        self,
        past: Tensor,
        past_observed: Tensor | None = None,
        covariates: Regressors | None = None,
        *,
        every: bool = False,
    ) -> Tensor:
        """The mean; in training the forecasts of the first network for the whole batch, then those of the next.

        So with `every`, where a network with quantiles gives all of them.
        """
        inputs = past, past_observed, covariates
        forecasts = [call_network(each, *inputs, every=every and has_quantiles(each)) for each in self.networks]
        return torch.cat(forecasts) if self.training or every else torch.stack(forecasts).mean(0)

    def spread(self, past: Tensor, past_observed: Tensor | None = None, covariates: Regressors | None = None) -> Tensor:
        """The mean of those of the networks with quantiles; see `HOTForecaster.spread`."""
        given = [network for network in self.networks if has_quantiles(network)]
        return torch.stack([spread_of(network, past, past_observed, covariates) for network in given]).mean(0)


class InGroups(nn.Module):
    """A network that sees `size` series together, on any number of them: group by group, the last one filled up.

    Shape:
        past `(batch, lookback, variates)`; past_observed the same; forecast `(batch, horizon, variates)`.
    """

    def __init__(self, network: nn.Module, size: int) -> None:
        super().__init__()
        self.network, self.size = network, size

    def forward(self, past: Tensor, past_observed: Tensor | None = None, *, every: bool = False) -> Tensor:
        """Forecast every group apart; series that fill up the last one are seen by none, as nothing is observed."""
        if past.shape[2] == self.size:
            return call_network(self.network, past, past_observed, None, every=every)
        return self._by_group(self.network, past, past_observed)

    def spread(self, past: Tensor, past_observed: Tensor | None = None) -> Tensor:
        """Of every group apart, as in the forecast."""
        both = self._by_group(lambda *inputs: torch.cat([*spread_of(self.network, *inputs)], 1), past, past_observed)
        spread: Tensor = both.unflatten(1, (2, -1)).movedim(1, 0)
        return spread

    def _by_group(self, network: Callable[..., Tensor], past: Tensor, past_observed: Tensor | None) -> Tensor:
        batch, _, series = past.shape
        if series % self.size and past_observed is None:
            past_observed = torch.ones_like(past, dtype=torch.bool)
        inputs = [None if each is None else self._apart(each) for each in (past, past_observed)]
        apart: Tensor = network(*inputs)
        forecast: Tensor = apart.unflatten(0, (batch, -1)).transpose(1, 2).flatten(2)
        return forecast[..., :series]

    def _apart(self, cells: Tensor) -> Tensor:
        """`(batch * groups, lookback, size)`."""
        whole = F.pad(cells, (0, -cells.shape[2] % self.size)).unflatten(2, (-1, self.size))
        samples: Tensor = whole.transpose(1, 2).flatten(0, 1)
        return samples


def call_network(
    network: nn.Module, past: Tensor, observed: Tensor | None, covariates: Regressors | None, *, every: bool = False
) -> Tensor:
    """A network's forecast, from covariates where it takes them; with `every`, all its quantiles along the batch."""
    given = (covariates,) if getattr(network, "takes_covariates", False) else ()
    return network(past, observed, *given, **({"every": True} if every else {}))  # type: ignore[no-any-return]


def spread_of(
    network: nn.Module, past: Tensor, observed: Tensor | None, covariates: Regressors | None = None
) -> Tensor:
    """How far a network's quantiles lie below and above its forecast, `(2, batch, horizon, variates)`."""
    given = (covariates,) if getattr(network, "takes_covariates", False) else ()
    return cast(Any, network).spread(past, observed, *given)  # type: ignore[no-any-return]


def answers_of(network: nn.Module) -> list[float | None]:
    """Probabilities of every answer of a network; None of a forecast without quantiles."""
    return [share for member in members_of(network) for share in getattr(member, "quantiles", ()) or (None,)]


def has_quantiles(network: nn.Module | None) -> bool:
    """Whether a network forecasts quantiles."""
    return network is not None and any(share is not None for share in answers_of(network))


def members_of(network: nn.Module | None) -> list[nn.Module]:
    """The networks that a forecast is made of: none, one, or those of a mean."""
    if network is None:
        return []
    network = network.network if isinstance(network, InGroups) else network
    return list(network.networks) if isinstance(network, MeanOfNetworks) else [network]


class WeighedForecasts(nn.Module):
    """Candidates side by side, and the answer: their forecasts, mixed step by step by weights of validation.

    Args:
        horizon: Steps to forecast.
        num_targets: The last variates, which are forecast. All candidates but the network see their own past alone.
        candidates: Forecasts of series from their own past, `ridge` among them; and `network`, where one is trained, a
            forecaster of every series.
        refits: Those that are refitted on more rows, by what they forecast: the test rows or the future.

    weight: `(candidates, horizon)`, in the order of `names`; every column sums to one.
    own: `(candidates, targets)`, where each series has weights of its own, which `weight` is the mean of; else zeros.
    later: Those of the future, which follow the errors on the test rows too; zeros where they are the same.
    products: Of errors before the test rows, means `(targets, candidates, candidates)`, beside classical candidates.
    cells: How many each is of, the later the heavier, `(targets,)`.
    explained: Whether the network forecasts what effects of covariates leave, as validation has it.
    heeds: Whether it is shown covariates besides.

    Shape:
        past `(batch, lookback, variates)` in scaled units; forecasts `(batch, horizon, targets)`.
    """

    def __init__(
        self,
        horizon: int,
        num_targets: int,
        candidates: Mapping[str, nn.Module],
        refits: Mapping[str, Mapping[str, nn.Module]] | None = None,
    ) -> None:
        super().__init__()
        self.horizon, self.num_targets = horizon, num_targets
        self.names = tuple(candidates)
        self.candidates = nn.ModuleDict({name: each for name, each in candidates.items() if name != "network"})
        self.refits = nn.ModuleDict({each: nn.ModuleDict(made) for each, made in (refits or {}).items()})
        self.network = candidates.get("network")
        self.weight = nn.Buffer(torch.zeros(len(self.names), horizon, dtype=torch.float64))
        self.weight[self.names.index("ridge")] = 1.0
        self.own = nn.Buffer(torch.zeros(len(self.names), num_targets, dtype=torch.float64))
        self.later = nn.Buffer(torch.zeros(self.own.shape, dtype=torch.float64))
        if self.classical:
            count = len(self.names)
            self.products = nn.Buffer(torch.zeros(num_targets, count, count, dtype=torch.float64))
            self.cells = nn.Buffer(torch.zeros(num_targets, dtype=torch.float64))
        self.explained = nn.Buffer(torch.tensor(False))
        self.heeds = nn.Buffer(torch.tensor(True))

    @property
    def every(self) -> dict[str, nn.Module]:
        """All candidates by name."""
        return {**dict(self.candidates.items()), **({} if self.network is None else {"network": self.network})}

    @property
    def floor(self) -> LinearFloor:
        """Ridge."""
        return cast(LinearFloor, self.candidates["ridge"])

    def forward(self, past: Tensor, observed: Tensor | None = None, covariates: Regressors | None = None) -> Tensor:
        """The answer."""
        return self.mix(self.forecasts(past, observed, self.used(), covariates))

    def fitted_for(self, use: str) -> "WeighedForecasts":
        """The answer by the candidates that were refitted for a use; itself where none were."""
        if use not in self.refits:
            return self
        twin = self.by(dict(cast(nn.ModuleDict, self.refits[use]).items()))
        if use == "future" and bool(self.later.any()):
            twin.own = self.later
            twin.weight = nn.Buffer(self.later.mean(1, keepdim=True).expand(-1, self.horizon))
        return twin

    def by(self, candidates: Mapping[str, nn.Module]) -> "WeighedForecasts":
        """The answer by other fits of some candidates, with the same weights."""
        twin = WeighedForecasts(self.horizon, self.num_targets, {**self.every, **candidates})
        twin.weight, twin.own, twin.explained, twin.heeds = self.weight, self.own, self.explained, self.heeds
        return twin.train(self.training)

    def used(self) -> list[str]:
        """Candidates with any weight."""
        return [name for name, steps in zip(self.names, self.weight, strict=True) if bool((steps != 0).any())]

    def mix(self, forecasts: Mapping[str, Tensor]) -> Tensor:
        """Weigh forecasts, step by step or series by series; a candidate that has all weight is returned itself.

        Where someone else's forecast is not there, the others share its weight.
        """
        used = self.used()
        if len(used) == 1:
            return forecasts[used[0]]
        weights = self.own[:, None] if bool(self.own.any()) else self.weight[:, :, None]
        rows = [(forecasts[name], weights[self.names.index(name)]) for name in used]
        whole: Tensor | float = 1.0
        may_lack = any(getattr(self.every[name], "may_lack", False) for name in used)
        if may_lack and any(bool(forecast.isnan().any()) for forecast, _ in rows):
            rows = [(forecast, torch.where(forecast.isnan(), 0.0, weight)) for forecast, weight in rows]
            whole = torch.stack([weight for _, weight in rows]).sum(0)
        parts = [torch.where(weight == 0, 0.0, forecast.double() * weight) for forecast, weight in rows]
        return (torch.stack(parts).sum(0) / whole).to(rows[0][0].dtype)

    def forecasts(
        self, past: Tensor, observed: Tensor | None, names: Sequence[str], covariates: Regressors | None = None
    ) -> dict[str, Tensor]:
        """Those of some candidates."""
        own = self._own(past, observed)
        if covariates is not None:
            covariates = covariates.of_last(self.num_targets)
        return {name: self._forecast(name, own, past, observed, covariates) for name in names}

    def _forecast(
        self, name: str, own: Tensor, past: Tensor, observed: Tensor | None, covariates: Regressors | None
    ) -> Tensor:
        if name == "network":
            return self._by_network(past, observed, covariates)
        candidate = self.candidates[name]
        if getattr(candidate, "takes_history", False):
            return candidate(own, None if covariates is None else covariates.history)  # type: ignore[no-any-return]
        takes = getattr(candidate, "takes_covariates", False)
        return candidate(own, covariates) if takes else candidate(own)  # type: ignore[no-any-return]

    def _by_network(self, past: Tensor, observed: Tensor | None, covariates: Regressors | None) -> Tensor:
        """Its forecast, and the effects ahead where it was shown what they leave."""
        assert self.network is not None
        forecast = call_network(self.network, *self.shown(past, observed, covariates))
        return forecast if covariates is None else forecast + self._effects(covariates)[:, past.shape[1] :]

    def shown(
        self, past: Tensor, observed: Tensor | None, covariates: Regressors | None
    ) -> tuple[Tensor, Tensor | None, Regressors | None]:
        """What the network sees: the past less effects of covariates, and covariates, each where validation gained."""
        if covariates is None:
            return past, observed, None
        return past - self._effects(covariates)[:, : past.shape[1]], observed, covariates if self.heeds else None

    def spread(self, past: Tensor, observed: Tensor | None = None, covariates: Regressors | None = None) -> Tensor:
        """See `spread_of`, of what the network is shown."""
        assert self.network is not None
        covariates = None if covariates is None else covariates.of_last(self.num_targets)
        return spread_of(self.network, *self.shown(past, observed, covariates))

    @property
    def classical(self) -> dict[str, Recursion]:
        """Candidates that a library fits to each series."""
        return {name: each for name, each in self.candidates.items() if isinstance(each, Recursion)}

    @property
    def with_models(self) -> Tensor:
        """Series that all classical candidates have a model of, `(targets,)`."""
        modelled = torch.ones(self.num_targets, dtype=torch.bool)
        for each in self.classical.values():
            modelled = modelled & (each.form[:, 0] >= 0)
        return modelled

    def own_spread(self) -> Tensor | None:
        """How far classical candidates expect to err, `(horizon, targets)`: the mean of those that have a model.

        Standard deviations of the steps after their fit, in scaled units; 0 for series without a model, and for those
        in which other candidates have more than half of the weight. None without a classical candidate.
        """
        if not (found := self.classical):
            return None
        fitted = torch.stack([each.form[:, 0] >= 0 for each in found.values()])[:, None]
        spreads = torch.stack([each.spread() for each in found.values()])
        mean = torch.where(fitted, spreads, 0.0).sum(0) / fitted.sum(0).clamp_min(1)
        places = [self.names.index(name) for name in found]
        weight = self.own[places].sum(0) if bool(self.own.any()) else self.weight[places].sum(0)[:, None]
        return torch.where(weight >= 0.5, mean, 0.0)

    def _effects(self, covariates: Regressors) -> Tensor:
        """Of every step of windows, `(batch, lookback + horizon, series)`; zeros where they are left in."""
        if not self.explained:
            return covariates.known.new_zeros(1, covariates.known.shape[1], 1)
        return cast(Regression, self.candidates["regression"]).effects(covariates.known)

    def ridge(self, past: Tensor, observed: Tensor | None = None) -> Tensor:
        """The closed-form forecast alone."""
        return self.floor(self._own(past, observed))  # type: ignore[no-any-return]

    def _own(self, past: Tensor, observed: Tensor | None) -> Tensor:
        """The past of the targets, without gaps."""
        own = past[..., -self.num_targets :]
        return own if observed is None else fill_gaps(own, observed[..., -self.num_targets :])

    def all_forecasts(
        self, past: Tensor, observed: Tensor | None = None, covariates: Regressors | None = None
    ) -> dict[str, Tensor]:
        """The answer, `multiway`, and every candidate."""
        forecasts = self.forecasts(past, observed, self.names, covariates)
        return {"multiway": self.mix(forecasts), "ridge": forecasts.pop("ridge"), **forecasts}
