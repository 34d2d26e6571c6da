import numpy as np
import pytest

from lopsided.core.errors import InputError
from lopsided.core.seeds import generator
from lopsided.data.clusters import ClusterSample, ClusterSpec, random_mixture, sample_mixture
from lopsided.learners.wide_descent import WideDescent, full_batches, shuffled_batches, side_by_side, wide_run
from lopsided.learners.wide_relu import (
    WideNetwork,
    accuracy,
    cross_entropy,
    gradient_coefficients,
    initial_deviation,
    network_outputs,
    random_network,
)
from lopsided.measure.weight_change import squared_lengths_after

CLASSES, WIDTH, DIMENSION, EXAMPLES = 4, 60, 30, 50


@pytest.fixture(scope="module")
def sample() -> ClusterSample:
    spec = ClusterSpec(classes=CLASSES, components=2, dimension=DIMENSION)
    return sample_mixture(random_mixture(spec, generator(0, "mixture")), EXAMPLES, generator(0, "sample"))


@pytest.fixture(scope="module")
def network() -> WideNetwork:
    return random_network(WIDTH, DIMENSION, CLASSES, generator(0, "network"))


def loss(weights: np.ndarray, network: WideNetwork, sample: ClusterSample) -> float:
    return cross_entropy(network_outputs(sample.points @ weights.T, network.top), sample.labels)


def test_equation_1_is_the_derivative_of_the_loss(sample: ClusterSample, network: WideNetwork) -> None:
    omega = np.full(EXAMPLES, 1 / EXAMPLES)
    start = sample.points @ network.hidden.T
    gradient = gradient_coefficients(start, None, network.top, sample.labels, omega).T @ sample.points
    step = 1e-6
    rng = generator(1)
    for _ in range(20):
        unit, coordinate = rng.integers(WIDTH), rng.integers(DIMENSION)
        ahead, behind = network.hidden.copy(), network.hidden.copy()
        ahead[unit, coordinate] += step
        behind[unit, coordinate] -= step
        difference = (loss(ahead, network, sample) - loss(behind, network, sample)) / (2 * step)
        # Central differences: error step^2 and eps/step = 2e-10 at a loss of order 1.
        assert gradient[unit, coordinate] == pytest.approx(difference, abs=2e-9)


def brute_force(
    network: WideNetwork, sample: ClusterSample, batches: np.ndarray, rate: float, process: str
) -> np.ndarray:
    """Eq (1) and its pseudo forms word by word: loops over examples, units and classes."""
    weights = network.hidden.copy()
    for batch in batches:
        gradient = np.zeros_like(weights)
        for s in batch:
            x, y = sample.points[s], sample.labels[s]
            fixed = network.hidden @ x >= 0
            now = weights @ x
            hidden = now * fixed if process == "pseudo network" else np.maximum(now, 0)
            exponentials = np.exp(network.top @ hidden)
            o = exponentials / exponentials.sum()
            for r in range(WIDTH):
                others = [i for i in range(CLASSES) if i != y]
                factor = sum(network.top[i, r] * o[i] for i in others) - sum(network.top[y, r] * o[i] for i in others)
                on = now[r] >= 0 if process == "gradient" else fixed[r]
                gradient[r] += factor * on * x / len(batch)
        weights -= rate * gradient
    return weights


@pytest.mark.parametrize("process", ["gradient", "pseudo gradient", "pseudo network"])
@pytest.mark.parametrize("form", ["dense", "coefficients"])
def test_processes_follow_their_definition(
    sample: ClusterSample, network: WideNetwork, process: str, form: str
) -> None:
    batches = shuffled_batches(EXAMPLES, 8, 15, generator(2))
    rate = 10 / WIDTH
    run = WideDescent(network, sample.points, sample.labels, batches, rate, process=process, form=form, block_rows=24)
    for _ in run:
        pass
    expected = brute_force(network, sample, batches, rate, process)
    # 15 steps in float64 with sums in another order.
    np.testing.assert_allclose(run.weights(), expected, rtol=0, atol=1e-13)
    # The processes differ on this run, so a mix-up would be seen.
    other = "pseudo gradient" if process == "gradient" else "gradient"
    assert np.abs(expected - brute_force(network, sample, batches, rate, other)).max() > 1e-6


@pytest.mark.parametrize("form", ["dense", "coefficients"])
def test_same_iterates_as_pytorch_autograd(sample: ClusterSample, network: WideNetwork, form: str) -> None:
    torch = pytest.importorskip("torch")
    batches = shuffled_batches(EXAMPLES, 16, 100, generator(3))
    rate = 20 / WIDTH
    weights = torch.tensor(network.hidden, requires_grad=True)
    top, points, labels = torch.tensor(network.top), torch.tensor(sample.points), torch.tensor(sample.labels)
    optimiser = torch.optim.SGD([weights], lr=rate)
    for state in WideDescent(network, sample.points, sample.labels, batches, rate, form=form):
        batch = torch.tensor(batches[state.step - 1])
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(torch.relu(points[batch] @ weights.T) @ top.T, labels[batch]).backward()
        optimiser.step()
        # The figure the issue asks for, over 100 steps.
        np.testing.assert_allclose(state.weights(), weights.detach().numpy(), rtol=0, atol=1e-10)
    assert np.linalg.norm(state.weights() - network.hidden) > 0.1


def test_forms_and_blocks_agree(sample: ClusterSample, network: WideNetwork) -> None:
    batches = shuffled_batches(EXAMPLES, 8, 60, generator(4))
    ends = [
        list(WideDescent(network, sample.points, sample.labels, batches, 0.3, form=form, block_rows=rows))[-1].weights()
        for form in ("dense", "coefficients")
        for rows in (1, 64, 1000)
    ]
    for end in ends[1:]:
        # The same sums in another order, over 60 steps.
        np.testing.assert_allclose(end, ends[0], rtol=0, atol=3e-14)


def test_single_precision_follows_double(sample: ClusterSample) -> None:
    batches = shuffled_batches(EXAMPLES, 8, 60, generator(4))
    ends = []
    for dtype in (np.float32, np.float64):
        net = random_network(WIDTH, DIMENSION, CLASSES, generator(0, "network"), dtype=dtype)
        run = WideDescent(net, sample.points, sample.labels, batches, 10 / WIDTH, probe=sample.points)
        for _ in run:
            pass
        assert run.weights().dtype == dtype
        assert run.probe_preactivations().dtype == dtype
        ends.append(run.weights())
    # eps = 6e-8 per operation, 60 steps, weights of order 0.3; a flipped pattern of a near-zero unit costs more.
    assert np.median(np.abs(ends[0] - ends[1])) < 1e-6


def test_repeated_examples_in_a_batch_count_twice(sample: ClusterSample, network: WideNetwork) -> None:
    repeated = np.array([[0, 0, 1, 2]] * 3)
    weighted = np.array([[0, 1, 2]] * 3)
    omega = np.full(EXAMPLES, 0.25)
    omega[0] = 0.5
    for form in ("dense", "coefficients"):
        one = list(WideDescent(network, sample.points, sample.labels, repeated, 0.5, form=form))[-1]
        other = list(
            WideDescent(network, sample.points, sample.labels, weighted, 0.5, form=form, example_weights=omega)
        )[-1]
        np.testing.assert_allclose(one.weights(), other.weights(), rtol=0, atol=1e-14)


@pytest.mark.parametrize("form", ["dense", "coefficients"])
@pytest.mark.parametrize("every", [1, 5, 17])
def test_probes_and_running_distance_match_the_weights(
    sample: ClusterSample, network: WideNetwork, form: str, every: int
) -> None:
    batches = shuffled_batches(EXAMPLES, 8, 40, generator(5))
    probe = generator(6).standard_normal((7, DIMENSION))
    squared = np.zeros(WIDTH)
    run = WideDescent(network, sample.points, sample.labels, batches, 0.5, form=form, block_rows=32, probe=probe)
    for state in run:
        displaced = state.batch_preactivations - state.batch_initial_preactivations
        squared = squared_lengths_after(squared, displaced, state.batch_update, state.batch_gram)
        if state.step % every == 0:
            weights = state.weights()
            # Rounding of products of length 30 and of up to 40 accumulated updates.
            np.testing.assert_allclose(state.probe_preactivations(), probe @ weights.T, rtol=0, atol=1e-13)
            moved = np.linalg.norm(weights - network.hidden, axis=1)
            np.testing.assert_allclose(np.sqrt(squared), moved, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.probe_initial_preactivations, probe @ network.hidden.T, atol=1e-15)


def test_a_run_can_be_left_and_taken_up_again(sample: ClusterSample, network: WideNetwork) -> None:
    batches = shuffled_batches(EXAMPLES, 8, 30, generator(7))
    whole = list(WideDescent(network, sample.points, sample.labels, batches, 0.5))[-1]
    for form in ("dense", "coefficients"):
        run = WideDescent(
            network, sample.points, sample.labels, batches, 0.5, form=form, block_rows=24, probe=sample.points
        )
        for stop in (9, 11, 12, 30):  # blocks of three steps: 11 leaves one in the middle
            for state in run:
                if state.step == stop:
                    break
            if stop != 11:
                now = sample.points @ run.weights().T
                np.testing.assert_allclose(run.probe_preactivations(), now, rtol=0, atol=1e-13)
        np.testing.assert_allclose(run.weights(), whole.weights(), rtol=0, atol=3e-14)


def test_side_by_side_uses_the_same_batches_and_start(sample: ClusterSample, network: WideNetwork) -> None:
    batches = full_batches(EXAMPLES, 3)
    steps = 0
    for true, pseudo in side_by_side(network, sample.points, sample.labels, batches, 1e-9):
        steps += 1
        # At so small a rate no pattern flips, so the two are one process.
        np.testing.assert_array_equal(true.weights(), pseudo.weights())
    assert steps == 3


def test_one_pass_uses_no_example_twice() -> None:
    batches = shuffled_batches(100, 10, 10, generator(0))
    assert sorted(batches.ravel()) == list(range(100))
    longer = shuffled_batches(100, 16, 40, generator(0)).ravel()
    assert sorted(longer[:100]) == list(range(100))
    assert sorted(longer[100:200]) == list(range(100))


def test_readings_of_the_initialisation() -> None:
    for reading, deviation in (("A3", 1 / 20), ("section 7", 1 / np.sqrt(20))):
        net = random_network(400, 50, 3, generator(0), initialisation=reading)
        assert initial_deviation(400, reading) == pytest.approx(deviation)
        # 20,000 normals: the deviation has relative standard error 1/sqrt(40000) = 0.5 %; four of them.
        assert net.hidden.std() == pytest.approx(deviation, rel=0.02)
        assert net.top.std() == pytest.approx(1, rel=0.09)


def test_accuracy_counts_a_tie_as_an_error() -> None:
    outputs = np.array([[1.0, 1.0], [2.0, 1.0], [0.0, 3.0]])
    assert accuracy(outputs, np.array([0, 0, 0])) == pytest.approx(1 / 3)


def test_bad_input_is_refused_in_a_sentence(sample: ClusterSample, network: WideNetwork) -> None:
    batches = full_batches(EXAMPLES, 2)
    points, labels = sample.points, sample.labels
    broken = points.copy()
    broken[3, 2] = np.nan
    for arguments in (
        (points[:, :-1], labels, batches, 0.1),
        (broken, labels, batches, 0.1),
        (points, labels[:-1], batches, 0.1),
        (points, labels + 9, batches, 0.1),
        (points, labels.astype(str), batches, 0.1),
        (points, labels, batches + 1, 0.1),
        (points, labels, batches[0], 0.1),
        (points, labels, batches, float("inf")),
    ):
        with pytest.raises(InputError):
            WideDescent(network, *arguments)
    for weights in (np.ones(EXAMPLES - 1), np.full(EXAMPLES, np.nan), ["heavy"] * EXAMPLES):
        with pytest.raises(InputError):
            WideDescent(network, points, labels, batches, 0.1, example_weights=weights)
    with pytest.raises(InputError):
        WideDescent(network, points, labels, batches, 0.1).probe_preactivations()
    with pytest.raises(InputError):
        shuffled_batches(10, 11, 1, generator(0))


def test_a_run_on_a_sample_shares_its_start_and_its_batches_with_runs_of_the_same_seed(sample: ClusterSample) -> None:
    common = {"classes": CLASSES, "steps": 6, "batch": 5, "seed": 3, "dtype": np.float64}
    slow, fast = (
        wide_run(sample.points, sample.labels, width=WIDTH, rate_times_width=rate, **common) for rate in (1.0, 10.0)
    )
    np.testing.assert_array_equal(slow.network.hidden, fast.network.hidden)
    network = random_network(WIDTH, DIMENSION, CLASSES, generator(3, "network", WIDTH))
    batches = shuffled_batches(EXAMPLES, 5, 6, generator(3, "batches"))
    by_hand = WideDescent(network, sample.points, sample.labels, batches, 10.0 / WIDTH)
    for run in (slow, fast, by_hand):
        for state in run:
            displaced = state.batch_preactivations - state.batch_initial_preactivations
            np.testing.assert_array_equal(state.batch_displacement, displaced)
    np.testing.assert_array_equal(fast.weights(), by_hand.weights())
    assert np.abs(fast.weights() - slow.weights()).max() > 0
