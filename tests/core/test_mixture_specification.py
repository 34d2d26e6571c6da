import numpy as np
import pytest

from lopsided.core.activation import ACTIVATIONS, hazard, log_value, slope, value
from lopsided.core.errors import InputError
from lopsided.core.mixture_file import mixture_file, mixture_problem
from lopsided.core.mixture_spec import is_symmetric, mixture_of

GROUPS = [{"fraction": 0.8, "mean": 0, "covariance": 1}, {"fraction": 0.2, "mean": [1, 2], "covariance": [4, 9]}]
TEACHER = {"weights": [[1, 0], [0, 1]]}


def test_numbers_lists_and_matrices_mean_what_the_documentation_says():
    problem = mixture_problem({"group": GROUPS, "teacher": TEACHER})
    assert problem.mixture.means.tolist() == [[0, 0], [1, 2]]
    assert problem.mixture.covariances[0].tolist() == [[1, 0], [0, 1]]
    assert problem.mixture.covariances[1].tolist() == [[4, 0], [0, 9]]
    assert problem.weights.tolist() == [[1, 0], [0, 1]]


def test_a_drawn_teacher_repeats_under_its_seed_and_scales():
    teacher = {"neurons": 2, "seed": 3, "scale": 2.0}
    first = mixture_problem({"group": GROUPS, "teacher": teacher})
    again = mixture_problem({"group": GROUPS, "teacher": teacher | {"scale": 1.0}})
    assert np.array_equal(first.weights, 2.0 * again.weights)
    other = mixture_problem({"group": GROUPS, "teacher": teacher | {"seed": 4}})
    assert not np.array_equal(first.weights, other.weights)


def change(**fields):
    return {"group": [GROUPS[0] | fields, GROUPS[1]], "teacher": TEACHER}


@pytest.mark.parametrize(
    ("specification", "word"),
    [
        (change(fraction=-0.1), "group.0.fraction"),
        (change(fraction="many"), "group.0.fraction"),
        (change(fraction=0.3), "sum to 1"),
        (change(covariance=0), "covariance"),
        (change(covariance=[[1, 2], [2, 1]]), "positive definite"),
        (change(covariance=[[1, 0.5], [0, 1]]), "symmetric"),
        (change(covariance=[1, 2, 3]), "one dimension"),
        (change(mean=[1, 2, 3]), "one dimension"),
        (change(mean=float("nan")), "group.0.mean"),
        (change(colour="red"), "group.0.colour"),
        ({"group": GROUPS, "teacher": {"weights": [[1, 0]]}}, "dimension"),
        ({"group": GROUPS, "teacher": {"weights": [[1, 0], [1]]}}, "teacher.weights"),
        ({"group": GROUPS, "teacher": {"weights": [[1, "a"], [1, 1]]}}, "teacher.weights"),
        ({"group": GROUPS, "teacher": TEACHER | {"neurons": 2}}, "neurons"),
        ({"group": GROUPS, "teacher": {"neurons": 5}}, "teacher.neurons"),
        ({"group": GROUPS, "teacher": {"activation": "relu", "neurons": 2}}, "activation"),
        ({"group": GROUPS, "teacher": {"activation": "tanh"}}, "give weights, or neurons"),
        ({"group": GROUPS}, "teacher"),
        ({"group": GROUPS, "teacher": {"neurons": True}}, "teacher.neurons"),
        (change(fraction=True), "group.0.fraction"),
        (change(mean=False), "group.0.mean"),
        (change(covariance=[True, 1]), "group.0.covariance"),
        ({"group": [{"fraction": 1.0, "covariance": 1}], "teacher": TEACHER}, "group.0.mean"),
        ({"group": [{"fraction": 1.0, "mean": 1}], "teacher": TEACHER}, "group.0.covariance"),
        ({"group": [], "teacher": TEACHER}, "group"),
        ({"teacher": TEACHER}, "group"),
        ({}, "group"),
        ({"group": [{"fraction": 1.0, "mean": 0, "covariance": 1}], "teacher": {"neurons": 1}}, "dimension"),
    ],
)
def test_a_bad_specification_names_its_field(specification, word):
    with pytest.raises(InputError) as caught:
        mixture_problem(specification)
    assert word in str(caught.value)
    assert len(str(caught.value)) < 400


def test_files_that_are_not_specifications(tmp_path):
    (tmp_path / "broken.toml").write_text("[[group]\nfraction = 1")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    for name, word in (
        ("broken.toml", "TOML"),
        ("binary.toml", "text"),
        ("absent.toml", "which does not exist"),
        ("", "direct"),
    ):
        with pytest.raises(InputError, match=word):
            mixture_file(tmp_path / name)


def test_symmetric_mixtures_are_recognised():
    assert is_symmetric(mixture_of([0.5, 0.5], [1, -1], [1, 1], 3))
    assert is_symmetric(mixture_of([1.0], [0], [2], 3))
    assert is_symmetric(mixture_of([0.2, 0.4, 0.2, 0.2], [1, 0, -1, 0], [1, 3, 1, 2], 3))
    assert is_symmetric(mixture_of([0.25, 0.25, 0.5], [1, 1, -1], [1, 1, 1], 3))
    assert not is_symmetric(mixture_of([0.5, 0.5], [1, 0], [1, 1], 3))
    assert not is_symmetric(mixture_of([0.6, 0.4], [1, -1], [1, 1], 3))
    assert not is_symmetric(mixture_of([0.5, 0.5], [1, -1], [1, 2], 3))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations_are_consistent(activation):
    z = np.linspace(-6, 6, 241)
    step = 1e-5
    # Central differences of smooth functions of order one: error about step^2 and rounding / step.
    assert np.allclose(
        (value(z + step, activation) - value(z - step, activation)) / (2 * step), slope(z, activation), atol=1e-9
    )
    assert np.allclose(value(z, activation) + value(-z, activation), 1.0, atol=1e-15)
    assert np.allclose(np.exp(log_value(z, activation)), value(z, activation), rtol=1e-12)
    assert np.allclose(hazard(z, activation) * value(z, activation), slope(z, activation), rtol=1e-9)
    far = np.array([-700.0, 700.0])
    for function in (log_value, hazard, slope, value):
        assert np.isfinite(function(far, activation)).all()
