"""Learning from a teacher: the divergence against torch, its gradient, weights, and batches without a teacher."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from multiway.training.losses import DistillationLoss, Taught, class_loss, distillation_loss, divergence
from tolerances import assert_same

SAMPLES, CLASSES = 7, 5


@pytest.fixture
def drawn(generator):
    student, teacher = (3 * torch.randn(SAMPLES, CLASSES, generator=generator) for _ in range(2))
    return student.requires_grad_(), teacher, torch.randint(CLASSES, (SAMPLES,), generator=generator)


@pytest.mark.parametrize("temperature", [1.0, 3.0, 20.0])
def test_the_divergence_is_torchs(drawn, temperature):
    student, teacher, _ = drawn
    ours = divergence(student, teacher, temperature)
    pair = (F.log_softmax(student / temperature, 1), F.softmax(teacher / temperature, 1))
    theirs = temperature**2 * F.kl_div(*pair, reduction="none").sum(1)
    assert_same(ours, theirs)
    (mine,) = torch.autograd.grad(ours.sum(), student)
    (other,) = torch.autograd.grad(theirs.sum(), student)
    assert_same(mine, other)


def test_the_loss_is_a_mean_of_both_parts(drawn):
    student, teacher, labels = drawn
    total, count = distillation_loss(student, teacher, labels, temperature=3.0, alpha=0.3, smoothing=0.1)
    soft = 9 * F.kl_div(F.log_softmax(student / 3, 1), F.softmax(teacher / 3, 1), reduction="batchmean")
    hard = F.cross_entropy(student, labels, label_smoothing=0.1)
    assert count == SAMPLES
    assert_same(total / count, 0.3 * soft + 0.7 * hard)


def test_without_a_share_for_the_teacher_it_is_cross_entropy(drawn):
    student, teacher, labels = drawn
    weights = torch.tensor([1.0, 2.0, 0.5, 1.5, 3.0])
    ours = distillation_loss(student, teacher, labels, weights, temperature=3.0, alpha=0.0)
    for mine, other in zip(ours, class_loss(student, labels, weights), strict=True):
        assert_same(mine, other)


def test_a_sample_weighs_as_its_class_in_both_parts(drawn):
    student, teacher, labels = drawn
    weights = torch.tensor([1.0, 2.0, 0.5, 1.5, 3.0])
    total, count = distillation_loss(student, teacher, labels, weights, temperature=3.0, alpha=0.5)
    alone = [
        distillation_loss(
            student[row : row + 1], teacher[row : row + 1], labels[row : row + 1], temperature=3.0, alpha=0.5
        )
        for row in range(SAMPLES)
    ]
    assert_same(count, weights[labels].sum())
    assert_same(total, sum(weights[label] * loss for label, (loss, _) in zip(labels, alone, strict=True)))


def test_a_student_that_is_its_teacher_is_not_apart(drawn):
    _, teacher, _ = drawn
    assert_same(divergence(teacher + 4, teacher, 2.0), torch.zeros(SAMPLES))


def test_each_sample_keeps_its_teachers_logits(drawn):
    student, teacher, labels = drawn

    class Source:
        def __len__(self):
            return SAMPLES

        def gather(self, index):
            return {"inputs": student.detach()[index], "target": labels[index]}

    batch = Taught(Source(), teacher).gather(torch.tensor([4, 1]))
    loss = DistillationLoss(temperature=3.0, alpha=0.5)
    rows = [4, 1]
    expected = distillation_loss(student[rows], teacher[rows], labels[rows], temperature=3.0, alpha=0.5)
    assert_same(loss(nn.Identity(), batch)[0], expected[0].detach())
    del batch["teacher"]
    assert_same(loss(nn.Identity(), batch)[0], F.cross_entropy(student[rows], labels[rows], reduction="sum").detach())


def test_each_of_two_heads_learns_its_own_part(drawn):
    """The public code of NdLinear's table 7: labels teach the class token, the teacher a token of its own."""
    student, teacher, labels = drawn
    own = student.detach().roll(1, 0).requires_grad_()
    loss = DistillationLoss(temperature=3.0, alpha=0.3)
    batch = {"inputs": torch.zeros(SAMPLES), "target": labels, "teacher": teacher}
    total, count = loss(lambda _inputs: (student, own), batch)
    soft = 9 * F.kl_div(F.log_softmax(own / 3, 1), F.softmax(teacher / 3, 1), reduction="batchmean")
    hard = F.cross_entropy(student, labels)
    assert_same(total / count, 0.3 * soft + 0.7 * hard)
    gradients = torch.autograd.grad(total / count, (student, own))
    expected = (*torch.autograd.grad(0.7 * hard, student), *torch.autograd.grad(0.3 * soft, own))
    for ours, theirs in zip(gradients, expected, strict=True):
        assert_same(ours, theirs)
