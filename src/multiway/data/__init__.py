"""From bytes to checked samples, each verb once; knows no model and no task, not by a string either.

A kind of data is what differs: how its bytes become samples. A new one plugs in so:

- `sources` turns bytes into columns, arrays, images and scans. Its readers take `Findings` and note flaws with place,
  value and fix (`errors.Fix`, data that whoever prints it spells).
- The kind's source makes `Samples` of them (`samples.py`): inputs of its own type, indexed by rows; targets, classes,
  groups, copies (`keys`), times, the official split, and where each sample stands.
- `split(samples, config.split)` gives rows of training, validation and test (`splitting.py`): as the data name them, by
  time, by folds or by shares, groups and copies together.
- `check_samples(source, read, how, facts=..., hooks=...)` reports on them (`checking.py`); hooks add flaws of the kind.
- `match_names`, `match_classes` and `match_sizes` hold later data to a state (`matching.py`).
- `targets.py` reads classes and numbers, `scaling.py` standardises; both learn from training rows alone.

What training learns, and the inputs that a network takes, are the task's (`multiway.tasks.sample_task`).
"""

from typing import TYPE_CHECKING

from multiway.lazy import extend, lazily

if TYPE_CHECKING:
    from multiway.data.findings import CheckReport as CheckReport
    from multiway.data.findings import Finding as Finding
    from multiway.data.findings import Place as Place
    from multiway.data.options import ReadOptions as ReadOptions
    from multiway.data.scaling import Scaler as Scaler
    from multiway.data.scaling import mase_scales as mase_scales

__getattr__ = lazily(__name__)

# How sets are made that stand in `catalogue.yaml` and at no address.
extend("makers", "multiway.data.made")
