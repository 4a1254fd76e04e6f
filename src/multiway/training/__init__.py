"""The loop, checkpoints and run folders; takes any `nn.Module`."""

from typing import TYPE_CHECKING

from multiway.lazy import lazily

if TYPE_CHECKING:
    from multiway.training.config import Batch as Batch
    from multiway.training.config import Callback as Callback
    from multiway.training.config import Objective as Objective
    from multiway.training.config import Source as Source
    from multiway.training.config import TrainingConfig as TrainingConfig
    from multiway.training.loop import History as History
    from multiway.training.loop import train as train
    from multiway.training.losses import LOSSES as LOSSES
    from multiway.training.processes import Interrupted as Interrupted
    from multiway.training.run_folder import RunFolder as RunFolder
    from multiway.training.steps import learning_rate_at as learning_rate_at
    from multiway.training.steps import seed_everything as seed_everything

__getattr__ = lazily(__name__)
