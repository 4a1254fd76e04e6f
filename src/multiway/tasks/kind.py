"""The data of a task, before any model: whether a source holds them, what is in it, what a training needs besides."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from multiway.data.checking import Hook, check_samples
from multiway.data.findings import CheckReport, Findings
from multiway.data.samples import Samples, read_samples
from multiway.data.sources.bytes import within
from multiway.data.sources.frames import source_name
from multiway.errors import Fix


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of data; modules of kinds import no torch.

    recognises: Whether a source, on disk or in memory, looks like it is of the kind.
    could_take: Whether a source that is not surely of the kind may be. With `is_chosen`, options are given that few
        tasks have, and this is one of them.
    proposal: Settings without which no run can be trained on a source, under a config; None where that is not known,
        or none can.
    """

    recognises: Callable[[object], bool] = lambda source: False
    could_take: Callable[..., bool] = lambda source, *, is_chosen=False: False
    proposal: Callable[[Any, Any], tuple[Fix, ...] | None] = lambda config, source: ()

    def check(self, config: Any, source: object) -> CheckReport:
        """What is in a source, and what is wrong with it under a config."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True, kw_only=True)
class SampleKind(Kind):
    """A kind of samples.

    read: Samples of a source under a config, with flaws noted. Later samples are matched by name to a `state`, which
        training learnt; without `has_target`, nobody looks for their targets.
    label: What messages call a source.
    describe: Facts that a check says first of some samples.
    count_missing: Missing values of some samples, by column.
    hooks: What a check under a config looks for, besides what it looks for in all samples.
    complete: A config and a source as a check takes them.
    """

    read: Callable[..., Samples[Any]]
    label: Callable[[object], str] = source_name
    describe: Callable[[Samples[Any]], Mapping[str, object]] = lambda samples: {samples.word: len(samples)}
    count_missing: Callable[[Samples[Any]], dict[str, int]] = lambda samples: {}
    hooks: Callable[[Any], Sequence[Hook]] = lambda config: ()
    complete: Callable[[Any, Any], tuple[Any, Any]] = lambda config, source: (config, source)

    def check(self, config: Any, source: object) -> CheckReport:
        """What is in a source: its samples, their splits, and all that is wrong with them."""
        config, source = self.complete(config, source)
        return check_samples(
            self.label(source),
            lambda findings: self._read_within_budget(config, source, findings),
            config.split,
            facts=self.describe,
            missing=self.count_missing,
            hooks=self.hooks(config),
        )

    def read_sound(self, config: Any, source: object, state: Any = None, *, has_target: bool = True) -> Samples[Any]:
        """Samples without a flaw.

        Raises:
            DataError: There is one.
        """

        def read(findings: Findings) -> Samples[Any]:
            return self._read_within_budget(config, source, findings, state, has_target=has_target)

        return read_samples(self.label(source), read)

    def _read_within_budget(
        self, config: Any, source: object, findings: Findings, state: Any = None, *, has_target: bool = True
    ) -> Samples[Any]:
        with within(config.read, source):
            return self.read(config, source, findings, state, has_target=has_target)


def name_arrays(source: object) -> str:
    """What messages call a path, or arrays in memory."""
    return source_name(source) if isinstance(source, str | Path) else "arrays in memory"
