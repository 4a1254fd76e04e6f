"""Schema of what a run on texts stores beside what all tasks do."""

from multiway.tasks.class_task import ClassFacts


class TextFacts(ClassFacts):
    """Of texts and the network on them."""

    train_acc: float
    """Share of the training texts that the network has right: how much it can express (TGA, figure 2)."""
    attention_parameters: int | None = None
    """Trained numbers of its attention layers, where it counts them."""
