"""Deep networks on one CPU, in PyTorch. Importing this package asks for PyTorch, so import it inside functions.

from lopsided.learners.deep.networks import build
from lopsided.learners.deep.recipe import TrainingRecipe
from lopsided.learners.deep.training import train

trained = train(build("mlp", inputs.shape[1:], classes=10, seed=0), inputs, labels, TrainingRecipe(steps=600), seed=0)
trained.classifier, trained.features(test_inputs), trained.logits(test_inputs)
"""

from lopsided.core.errors import MissingPackage

try:
    import torch  # noqa: F401 - the one place that says what is missing
except ImportError:
    raise MissingPackage("torch", "training deep networks", "torch") from None
