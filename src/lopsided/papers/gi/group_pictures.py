"""Two groups of pictures, one of them small: what a network learns about each (Li et al. 2024, Section V.B; Li et al.
2022, Section A).

Worlds. "cifar-10": animals (bird, cat, deer, dog, frog, horse) and airplanes; the group is the label, as in
Li et al. 2022.
"mnist" and "fashion-mnist": of the first eight classes, class mod 2 (or mod 4) is the label, and the group is the first
or the second four, so that group and label differ, as in Li et al. 2024. "celeba", if a user has it: blond hair (with
four classes: and pale skin) is the label, sex the group.

Under one seed the pictures, the first weights, the order, the noise and the places of crops are the same at every level
and a smaller sample is part of a larger one, so that runs are paired. Accuracies: of each group, `balanced` (the
unweighted average, as on the papers' test set), `natural` (groups weighted by their share of the training sample).
"""

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray, IntArray
from lopsided.data.image_groups import groups_of_classes, resized_crops
from lopsided.data.image_set import Images
from lopsided.data.images import VARIABLE, load_images
from lopsided.data.subsampling import subsample
from lopsided.papers.shared.network_runs import trained_network

ANIMALS = ("bird", "cat", "deer", "dog", "frog", "horse")
HALVES = ("first four", "second four")
# What claims on these worlds need; CelebA is used where it is.
NEEDED: dict[str, Any] = {"needs": ("cifar-10", "mnist"), "paper_needs": ("fashion-mnist",), "packages": ("torch",)}
FACES_READ = 20_000  # of CelebA's 162,770 training pictures; the experiments use 5000


@lru_cache(maxsize=4)
def world(images: str, classes: int, shrink: int, read: int | None, split: str, folder: str) -> Images:
    """A set with labels and groups; `folder` is what the environment names, so that another one is not mixed up."""
    if images == "celeba":
        return _faces(Path(folder), classes, split)
    most = read if split == "train" else None
    found = load_images(images, split=split, at_most=most).shrunk(shrink)  # type: ignore[arg-type]
    if images == "cifar-10":
        grouped = groups_of_classes(found, {"animals": ANIMALS, "airplanes": ("airplane",)})
        assert grouped.groups is not None
        return grouped.with_labels(grouped.groups, grouped.group_names)
    kept = found.take(np.flatnonzero(found.labels < 8))
    names = tuple(f"remainder {code}" for code in range(classes))
    return kept.with_groups(kept.labels // 4, HALVES).with_labels(kept.labels % classes, names)


def _faces(folder: Path, classes: int, split: str) -> Images:
    from lopsided.data.celeba import load_celeba

    found = load_celeba(folder, split=split, at_most=FACES_READ)  # type: ignore[arg-type]
    if classes == 2:
        return found
    pale = load_celeba(folder, label="Pale_Skin", split=split, size=(1, 1), at_most=FACES_READ)  # type: ignore[arg-type]
    names = ("neither", "blond", "pale", "blond and pale")
    return found.with_labels(found.labels + 2 * pale.labels, names)


def group_sample(settings: Mapping[str, Any], seed: int) -> tuple[Images, Images, int]:
    """Training sample, test set (equally many of each group) and the code of the minority group."""
    key = (settings["images"], settings["classes"], settings.get("shrink", 1), settings.get("read"))
    folder = os.environ.get(VARIABLE, "")
    train, test = world(*key, "train", folder), world(*key, "test", folder)
    assert train.groups is not None
    assert test.groups is not None
    minority = train.group_names.index(settings["minority"])
    sizes = [settings["majority_size"], settings["majority_size"]]
    sizes[minority] = settings["minority_size"]
    chosen = subsample(train.groups, sizes, seed)
    tested = subsample(test.groups, [settings["test_per_group"]] * 2, 0)
    return train.take(chosen), test.take(tested), minority


def augmented(
    settings: Mapping[str, Any], sample: Images, minority: int, seed: int
) -> tuple[NDArray[np.float32], IntArray]:
    """Pixels (0..1) and labels of the sample, and after them `copies` of minority pictures with noise or cropped."""
    pixels, labels = sample.planes(), sample.labels
    copies = settings.get("copies", 0)
    if not copies:
        return pixels, labels
    assert sample.groups is not None
    chosen = np.flatnonzero(sample.groups == minority)[:copies]
    added = pixels[chosen]
    if "noise" in settings:
        pattern = generator(seed, "noise").standard_normal(added.shape).astype(np.float32)
        added = added + np.float32(settings["noise"]) * pattern
    if "crop" in settings:
        added = resized_crops(added, settings["crop"], generator(seed, "crops").random((len(added), 2)))
    return np.concatenate([pixels, added]), np.concatenate([labels, labels[chosen]])


def picture_numbers(settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Train on the sample, augmented or not, and test."""
    trained, sample, test, minority, scaled = trained_on_groups(settings, seed)
    predicted = trained.predict(scaled(test.planes()))
    features = np.asarray(trained.features(scaled(sample.planes())), dtype=np.float64)
    assert sample.groups is not None
    assert test.groups is not None
    right = predicted == test.labels
    own, other = float(right[test.groups == minority].mean()), float(right[test.groups != minority].mean())
    share = float((sample.groups == minority).mean())
    norms = [_covariance_norm(features[sample.groups == code]) for code in (minority, 1 - minority)]
    return {
        "minority": own,
        "majority": other,
        "balanced": (own + other) / 2,
        "natural": share * own + (1 - share) * other,
        "minority_share": share,
        "minority_code": minority,
        "loss": trained.loss,
        "diverged": trained.diverged,
        "stuck": len(np.unique(predicted)) == 1,
        "minority_covariance": norms[0],
        "majority_covariance": norms[1],
    }


def trained_on_groups(settings: Mapping[str, Any], seed: int) -> tuple[Any, Images, Images, int, Any]:
    """The trained network, its sample, test set, minority code, and the scaling of pixels that it expects."""
    sample, test, minority = group_sample(settings, seed)
    plain = sample.planes()
    mean = plain.mean(axis=(0, 2, 3), dtype=np.float64, keepdims=True)
    deviation = plain.std(axis=(0, 2, 3), dtype=np.float64, keepdims=True)

    def scaled(pixels: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.asarray((pixels - mean) / deviation, dtype=np.float32)

    pixels, labels = augmented(settings, sample, minority, seed)
    trained = trained_network(settings, scaled(pixels), labels, settings["classes"], seed)
    return trained, sample, test, minority, scaled


def _covariance_norm(features: FloatArray) -> float | None:
    """|Sigma|, the largest eigenvalue; None for fewer than two examples."""
    if len(features) < 2:
        return None
    centred = features - features.mean(axis=0)
    return float(np.linalg.norm(centred, 2) ** 2 / (len(features) - 1))


class AlsoFaces(Sequence[Mapping[str, Any]]):
    """Settings, and those on CelebA after them where the folder of data sets holds it."""

    def __init__(self, always: Sequence[Mapping[str, Any]], faces: Sequence[Mapping[str, Any]]) -> None:
        self.always, self.faces = list(always), list(faces)

    def _all(self) -> list[Mapping[str, Any]]:
        from lopsided.data.celeba import find_celeba

        folder = os.environ.get(VARIABLE)
        return self.always + (self.faces if folder and find_celeba(Path(folder)) is not None else [])

    def __len__(self) -> int:
        return len(self._all())

    def __getitem__(self, index: Any) -> Any:
        return self._all()[index]


TRAINING = {"batch": 64, "rate": 0.05, "weight_decay": 5e-4}
# LeNet-5 has no BatchNorm: at larger steps some runs die and call every picture the same.
LENET = {"network": "lenet-5", "batch": 32, "rate": 0.01, "weight_decay": 5e-4}
# LeNet-5 on colour pictures at half resolution, a tenth of the sample of Li et al. 2022: about a second of one core.
QUICK_PLANES = {
    **LENET,
    "images": "cifar-10",
    "read": 25_000,
    "classes": 2,
    "minority": "airplanes",
    "majority_size": 800,
    "minority_size": 200,
    "shrink": 2,
    "steps": 400,
    "test_per_group": 500,
}
# A network of two hidden layers on half resolution: below a second.
QUICK_DIGITS = {
    **TRAINING,
    "images": "mnist",
    "classes": 2,
    "shrink": 2,
    "minority": HALVES[1],
    "majority_size": 800,
    "minority_size": 40,
    "network": "mlp",
    "widths": [128, 64],
    "steps": 300,
    "test_per_group": 500,
}
# The sample of Li et al. 2022: 8000 animals and 2000 airplanes, LeNet-5; about half a minute a run.
PAPER_PLANES = {
    **QUICK_PLANES,
    "shrink": 1,
    "majority_size": 8000,
    "minority_size": 2000,
    "steps": 8000,
    "test_per_group": 1000,
}
RESNET_PLANES = {**PAPER_PLANES, "network": "resnet-9", "width": 16, "steps": 1500}
PAPER_GARMENTS = {
    **QUICK_DIGITS,
    "images": "fashion-mnist",
    "shrink": 1,
    "widths": [256, 128],
    "majority_size": 4000,
    "minority_size": 1000,
    "steps": 3000,
    "test_per_group": 2000,
}
# The sample of Li et al. 2024: 4000 women, 1000 men, ResNet-9.
FACES = {
    **TRAINING,
    "images": "celeba",
    "classes": 2,
    "minority": "Male",
    "majority_size": 4000,
    "minority_size": 1000,
    "network": "resnet-9",
    "width": 16,
    "steps": 2000,
    "test_per_group": 500,
}
TINY_DIGITS = {
    **QUICK_DIGITS,
    "majority_size": 60,
    "minority_size": 20,
    "widths": [16, 8],
    "steps": 20,
    "batch": 16,
    "test_per_group": 40,
}
