"""Train one network on an imbalanced image set and measure everything that the Layer-Peeled claims need.

Majority classes come first. The seed determines which classes of the set are majority and minority classes, the
examples (a smaller sample is part of a larger one), the initial weights and the order, so runs at other ratios, decays
or rates with the same seed are paired. Images are scaled by the mean and deviation of the training sample.

Accuracies are on test images: `balanced` gives every class the same weight, `natural` weights classes by their share of
the training sample, `minority` is over the minority classes, and `minority_inner` lets the network choose among
minority classes only, which separates "minority classes confused with each other" from "mistaken for a majority class".
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lopsided.core.files import write_atomically
from lopsided.core.seeds import generator
from lopsided.core.validation import BoolArray, FloatArray, IntArray
from lopsided.data.image_set import Images, standardised
from lopsided.data.images import load_images
from lopsided.data.subsampling import subsample
from lopsided.engine.device import chosen_device
from lopsided.engine.unfinished import half_done, trained_resumably
from lopsided.measure.angles import cosine_summary, norm_variation
from lopsided.measure.neural_collapse import NeuralCollapse, neural_collapse
from lopsided.papers.claim import Claim
from lopsided.papers.shared.network_settings import class_sizes, effective_sizes, training_recipe
from lopsided.theory.layer_peeled.energy import restraint
from lopsided.theory.layer_peeled.solve import solve_free

if TYPE_CHECKING:
    from lopsided.learners.deep.training import Trained

TRAINED = 0.999  # training accuracy from which on an epoch counts as past zero error
_COURSE = "course.json"
_EVALUATED = 20  # epochs at which a run that asks for its course is measured, evenly spaced


def network_numbers(settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Train as the settings say (`network_settings` lists them) and measure."""
    from lopsided.learners.deep.networks import hidden_layers

    sizes = class_sizes(settings)
    minority = np.arange(len(sizes)) >= settings["majority_classes"]
    sample, test = image_sample(settings, sizes, seed)
    inputs, test_inputs = standardised(sample, test)
    course = _course_so_far()
    trained = trained_network(
        settings,
        inputs,
        sample.labels,
        len(sizes),
        seed,
        order=oversampled_order(sample.labels, minority, settings.get("oversample", 1), seed),
        class_weights=np.where(minority, settings["reweight"], 1.0) if settings.get("reweight", 1) != 1 else None,
        logit_adjustment=_log_shares(settings) if settings.get("adjust") else None,
        after_epoch=_watcher(inputs, sample.labels, settings, course) if settings.get("course") else None,
    )
    predicted, logits = trained.predict(inputs), trained.logits(test_inputs)
    weights = trained.classifier
    numbers: dict[str, Any] = {
        "minority_cosine": cosine_summary(weights, minority).mean,
        "majority_cosine": cosine_summary(weights, ~minority).mean,
        "minority_norm_variation": norm_variation(weights[minority]),
        "majority_norm_variation": norm_variation(weights[~minority]),
        "weight_energy": float((weights**2).sum(axis=1).mean()),
        "loss": trained.loss,
        "steps": trained.steps,
        "diverged": trained.diverged,
        "hidden_layers": hidden_layers(trained.network),
        "train_accuracy": float((predicted == sample.labels).mean()),
        "minority_share": float(sizes[minority].sum() / sizes.sum()),
        **accuracies(logits, test.labels, sizes, minority),
    }
    if sizes.all():
        state = neural_collapse(trained.features(inputs), sample.labels, weights, trained.bias)
        numbers |= {**collapse_numbers(state), **_with_measured_energies(sizes, state, minority)}
    if course:
        numbers["course"] = [course[step] for step in sorted(course)]
    return numbers


def trained_network(
    settings: Mapping[str, Any], inputs: NDArray[np.floating], labels: IntArray, classes: int, seed: int, **how: Any
) -> "Trained":
    """The network that the settings name, trained as they say on one thread; a stopped run goes on where it was."""
    from lopsided.learners.deep.networks import build
    from lopsided.learners.deep.training import train

    options = {name: settings[name] for name in ("widths", "width") if name in settings}
    network = build(settings["network"], inputs.shape[1:], classes, seed=seed, **options)
    run = partial(
        train, network, inputs, labels, training_recipe(settings), seed=seed, threads=1, device=chosen_device(), **how
    )
    return trained_resumably(lambda checkpoint: run(checkpoint=checkpoint))


# A claim about such networks: MNIST and a minute at the quick scale, and PyTorch.
network_claim = partial(
    Claim, measure=network_numbers, needs=("mnist",), packages=("torch",), quick_budget_seconds=60.0
)


def _log_shares(settings: Mapping[str, Any]) -> FloatArray:
    """log of the class shares that the loss sees."""
    sizes = effective_sizes(settings)
    return np.asarray(np.log(np.maximum(sizes, 1) / sizes.sum()))


def image_sample(settings: Mapping[str, Any], sizes: IntArray, seed: int) -> tuple[Images, Images]:
    """Training sample and test set under the class roles of the seed."""
    train, test = load_images(settings["images"]), load_images(settings["images"], split="test")
    roles = generator(seed, "roles").permutation(len(train.class_names))
    place = np.argsort(roles)  # class to role
    names = tuple(train.class_names[role] for role in roles)
    chosen = subsample(place[train.labels], sizes, seed)
    few = test.first(settings.get("test_per_class", 500))
    shrink = settings.get("shrink", 1)
    sample, tested = train.take(chosen).shrunk(shrink), few.shrunk(shrink)
    return sample.with_labels(place[sample.labels], names), tested.with_labels(place[tested.labels], names)


def oversampled_order(labels: IntArray, minority: BoolArray, rate: int, seed: int) -> Callable[[int], IntArray] | None:
    """Every minority example `rate` times in each epoch, shuffled; None where nothing is repeated."""
    if rate == 1:
        return None
    listed = np.repeat(np.arange(len(labels)), np.where(minority[labels], rate, 1))
    return lambda epoch: generator(seed, "order", epoch).permutation(listed)


def accuracies(
    logits: NDArray[np.floating], labels: IntArray, sizes: IntArray, minority: BoolArray
) -> dict[str, float]:
    """Accuracies on the test set; see the module's text for the names."""
    right = logits.argmax(axis=1) == labels
    each = np.array([right[labels == k].mean() for k in range(len(sizes))])
    own = minority[labels]
    inner = np.where(minority, logits, -np.inf).argmax(axis=1) == labels
    return {
        "test_balanced": float(each.mean()),
        "test_natural": float((each * sizes).sum() / sizes.sum()),
        "test_minority": float(each[minority].mean()),
        "test_majority": float(each[~minority].mean()),
        "test_minority_inner": float(np.mean([inner[own & (labels == k)].mean() for k in np.flatnonzero(minority)])),
    }


def collapse_numbers(state: NeuralCollapse) -> dict[str, float | None]:
    """NC1-NC4, frame distances and energies."""
    return {
        "nc1": state.nc1,
        "nc2_norms": state.nc2_norm_variation,
        "nc2_angles": state.nc2_angle_deviation,
        "nc3": state.nc3,
        "nc4": state.nc4,
        "frame_distance": state.classifier_frame_distance,
        "feature_energy": state.feature_energy,
        "centred_mean_energy": state.centred_mean_energy,
    }


def _watcher(
    inputs: Any, labels: IntArray, settings: Mapping[str, Any], course: dict[int, dict[str, Any]]
) -> Callable[[int, Any], None]:
    """Measures the network at the end of epochs, evenly spaced over the run."""
    from lopsided.learners.deep.classifier import features_of

    recipe = training_recipe(settings)
    per_epoch = max(1, len(labels) // recipe.batch_size)
    every = max(1, recipe.total_steps(len(labels)) // per_epoch // _EVALUATED)

    def watch(epoch: int, network: Any) -> None:
        if epoch % every:
            return
        head = network.head
        weights, bias = (part.detach().double().cpu().numpy() for part in (head.weight, head.bias))
        features = features_of(network, inputs)
        accuracy = float(((features @ weights.T + bias).argmax(axis=1) == labels).mean())
        state = collapse_numbers(neural_collapse(features, labels, weights, bias))
        step = epoch * per_epoch
        course[step] = {"step": step, "train_accuracy": accuracy, **state}
        if (kept := half_done(_COURSE)) is not None:
            write_atomically(kept, json.dumps(list(course.values())))

    return watch


def _course_so_far() -> dict[int, dict[str, Any]]:
    """Measurements of an earlier run of this task before it was stopped, by step; the network resumes at or before the
    last."""
    kept = half_done(_COURSE)
    try:
        found = [] if kept is None else json.loads(kept.read_bytes())
        return {int(state["step"]): state for state in found}
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return {}


def _with_measured_energies(sizes: IntArray, state: NeuralCollapse, minority: BoolArray) -> dict[str, Any]:
    """The paper's forecast: the model at the energies that the trained network turned out to have."""
    assert state.weight_energy is not None
    held = restraint(len(sizes), feature_energy=state.feature_energy, weight_energy=state.weight_energy)
    solution = solve_free(sizes.astype(np.float64), held)
    return {"energies_cosine": solution.mean_cosine(minority)}
