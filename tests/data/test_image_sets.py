"""Every layout of every image set: small ones written here, and the real files where LOPSIDED_DATA has them."""

import gzip
import hashlib
import pickle
import shutil
import struct

import numpy as np
import pytest
from PIL import Image

from lopsided.core.errors import InputError
from lopsided.core.seeds import generator
from lopsided.data import images as images_module
from lopsided.data.celeba import load_celeba
from lopsided.data.cifar import undo_differences
from lopsided.data.image_folders import load_image_folder
from lopsided.data.image_groups import groups_of_classes
from lopsided.data.image_set import standardised
from lopsided.data.images import has_images, load_images


@pytest.fixture
def pictures():
    stream = generator(0, "pictures")
    return stream.integers(0, 256, (12, 32, 32, 3), dtype=np.uint8), np.arange(12) % 10


def rows(pixels):
    """The 3072 bytes of each picture as CIFAR has them: red plane, green plane, blue plane."""
    return np.ascontiguousarray(pixels.transpose(0, 3, 1, 2)).reshape(len(pixels), -1)


def differences(pixels):
    """The coding of the npz layout, written from its description."""
    planes = pixels.transpose(3, 0, 1, 2).copy()
    planes[0] -= planes[1]
    planes[2] -= planes[1]
    across = np.diff(planes, axis=2, prepend=np.uint8(0))
    return np.diff(across, axis=3, prepend=np.uint8(0))


def write_cifar10(layout, folder, pixels, labels):
    files = {"train": [f"data_batch_{number}" for number in range(1, 6)], "test": ["test_batch"]}
    for split, names in files.items():
        for number, name in enumerate(names):
            part = slice(2 * number, 2 * number + 2) if split == "train" else slice(10, 12)
            own, codes = pixels[part], labels[part]
            if layout == "python":
                place = folder / "cifar-10-batches-py"
                place.mkdir(exist_ok=True)
                content = {b"data": rows(own), b"labels": codes.tolist(), b"filenames": [b"a.png"] * len(own)}
                (place / name).write_bytes(pickle.dumps(content, 2))
            elif layout == "binary":
                place = folder / "cifar-10" / "cifar-10-batches-bin"
                place.mkdir(exist_ok=True, parents=True)
                records = np.column_stack([codes.astype(np.uint8), rows(own)])
                (place / f"{name}.bin").write_bytes(records.tobytes())
            else:
                place = folder / "CIFAR10"
                place.mkdir(exist_ok=True)
                name = "cifar10_test" if split == "test" else f"cifar10_train_{'abcde'[number]}"
                np.savez(place / f"{name}.npz", delta=differences(own), y=codes)


@pytest.mark.parametrize("layout", ["python", "binary", "npz"])
def test_cifar_10_in_each_layout(tmp_path, pictures, layout) -> None:
    pixels, labels = pictures
    write_cifar10(layout, tmp_path, pixels, labels)
    assert has_images("cifar-10", tmp_path)
    train = load_images("cifar-10", folder=tmp_path)
    np.testing.assert_array_equal(train.pixels, pixels[:10])
    np.testing.assert_array_equal(train.labels, labels[:10])
    test = load_images("cifar-10", folder=tmp_path, split="test")
    np.testing.assert_array_equal(test.pixels, pixels[10:])
    assert test.class_names[3] == "cat"
    few = load_images("cifar-10", folder=tmp_path, at_most=3)
    np.testing.assert_array_equal(few.pixels, pixels[:3])


def test_only_the_files_needed_are_read(tmp_path, pictures) -> None:
    write_cifar10("python", tmp_path, *pictures)
    (tmp_path / "cifar-10-batches-py" / "data_batch_3").write_bytes(b"damaged")
    assert load_images("cifar-10", folder=tmp_path, at_most=4).size == 4
    with pytest.raises(InputError, match="data_batch_3"):
        load_images("cifar-10", folder=tmp_path)


@pytest.mark.parametrize("layout", ["python", "binary"])
def test_cifar_100_has_superclasses_as_groups(tmp_path, pictures, layout) -> None:
    pixels, _ = pictures
    fine, coarse = np.arange(12) * 8, np.arange(12) + 3
    place = tmp_path / ("cifar-100-python" if layout == "python" else "cifar-100-binary")
    place.mkdir()
    names = {
        b"fine_label_names": [b"f%d" % i for i in range(100)],
        b"coarse_label_names": [b"c%d" % i for i in range(20)],
    }
    for split in ("train", "test"):
        if layout == "python":
            content = {"data": rows(pixels), "fine_labels": fine.tolist(), "coarse_labels": coarse.tolist()}
            (place / split).write_bytes(pickle.dumps(content, 4))
            (place / "meta").write_bytes(pickle.dumps(names, 2))
        else:
            records = np.column_stack([coarse.astype(np.uint8), fine.astype(np.uint8), rows(pixels)])
            (place / f"{split}.bin").write_bytes(records.tobytes())
            for key, values in names.items():
                (place / f"{key.decode()}.txt").write_bytes(b"\n".join(values) + b"\n")
    found = load_images("cifar-100", folder=tmp_path, split="test")
    np.testing.assert_array_equal(found.pixels, pixels)
    np.testing.assert_array_equal(found.labels, fine)
    np.testing.assert_array_equal(found.groups, coarse)
    assert found.class_names[88] == "f88"
    assert found.group_names[14] == "c14"


def test_cifar_as_folders_of_pictures(tmp_path, pictures) -> None:
    pixels, labels = pictures
    for split in ("train", "test"):
        for number, label in enumerate(labels):
            place = tmp_path / "cifar-10" / split / f"class{label}"
            place.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels[number]).save(place / f"{number:02}.png")
    found = load_images("cifar-10", folder=tmp_path)
    order = np.argsort(labels, kind="stable")
    np.testing.assert_array_equal(found.pixels, pixels[order])
    np.testing.assert_array_equal(found.labels, labels[order])


def test_damaged_cifar_files_are_sentences(tmp_path, pictures) -> None:
    pixels, labels = pictures
    place = tmp_path / "cifar-10-batches-py"
    place.mkdir()
    for content, words in (
        (pickle.dumps([1]), "a dict"),
        (pickle.dumps({"data": rows(pixels)}), "data and labels"),
        (pickle.dumps({"data": rows(pixels)[:, 1:], "labels": labels.tolist()}), "rows of 3072"),
        (pickle.dumps({"data": rows(pixels), "labels": [1]}), "12 labels"),
        (pickle.dumps({"data": rows(pixels), "labels": [99] * 12}), "labels from 0 to 9"),
    ):
        (place / "data_batch_1").write_bytes(content)
        with pytest.raises(InputError, match=words):
            load_images("cifar-10", folder=tmp_path, at_most=5)
    (tmp_path / "CIFAR10").mkdir()
    shutil.rmtree(place)
    for name in ("test", "train_a"):
        (tmp_path / "CIFAR10" / f"cifar10_{name}.npz").write_bytes(b"PK\x03\x04 cut")
    with pytest.raises(InputError, match="a damaged one"):
        load_images("cifar-10", folder=tmp_path)


def test_absent_sets_say_how_to_get_them(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(images_module, "DEBIAN", {})
    for name, words in (("cifar-10", "cifar-10-python.tar.gz"), ("fashion-mnist", "dataset-fashion-mnist")):
        with pytest.raises(InputError, match=words) as caught:
            load_images(name, folder=tmp_path)
        assert "\n" not in str(caught.value)
        monkeypatch.delenv("LOPSIDED_DATA", raising=False)
        with pytest.raises(InputError, match="LOPSIDED_DATA"):
            load_images(name)
        assert not has_images(name)


def test_where_debian_puts_fashion_mnist(tmp_path, monkeypatch) -> None:
    pixels = np.arange(2 * 28 * 28, dtype=np.int64).astype(np.uint8)
    for prefix in ("train", "t10k"):
        head = b"\x00\x00\x08\x03" + struct.pack(">3i", 2, 28, 28)
        (tmp_path / f"{prefix}-images-idx3-ubyte.gz").write_bytes(gzip.compress(head + pixels.tobytes()))
        (tmp_path / f"{prefix}-labels-idx1-ubyte.gz").write_bytes(
            gzip.compress(b"\x00\x00\x08\x01\x00\x00\x00\x02\x03\x04")
        )
    monkeypatch.setattr(images_module, "DEBIAN", {"fashion-mnist": tmp_path})
    monkeypatch.delenv("LOPSIDED_DATA", raising=False)
    assert has_images("fashion-mnist")
    assert load_images("fashion-mnist").labels.tolist() == [3, 4]
    monkeypatch.setenv("LOPSIDED_DATA", str(tmp_path / "elsewhere"))
    assert load_images("fashion-mnist", split="test").size == 2


def test_the_difference_coding() -> None:
    pixels = generator(1, "pictures").integers(0, 256, (5, 32, 32, 3), dtype=np.uint8)
    np.testing.assert_array_equal(undo_differences(differences(pixels)), pixels)


def test_the_real_cifar_test_set(data_folder) -> None:
    test = load_images("cifar-10", split="test", folder=data_folder)
    # SHA-256 of the 10,000 test images as (N, 32, 32, 3) bytes. Taken once with the 50,000 training images before it,
    # when all 60,000 gave the sum 0ac3ab5c... published with the files.
    assert hashlib.sha256(test.pixels.tobytes()).hexdigest().startswith("f9b1e2130bab680d")
    assert test.counts.tolist() == [1000] * 10
    assert test.labels[:8].tolist() == [3, 8, 8, 0, 6, 6, 1, 6]
    with pytest.raises(ValueError, match="read-only"):
        test.pixels[0] = 0


def test_the_real_long_tail(data_folder) -> None:
    found = load_images("cifar-100-lt", folder=data_folder)
    assert found.counts.tolist() == [int(500 * 0.01 ** (k / 99) + 1e-9) for k in range(100)]
    assert "aquarium_fish" in found.class_names


@pytest.fixture
def celeba(tmp_path):
    place = tmp_path / "celeba"
    (place / "img_align_celeba").mkdir(parents=True)
    names = ["Bald", "Blond_Hair", "Male"]
    values = [(-1, 1, -1), (-1, -1, 1), (1, -1, 1), (-1, 1, 1)]
    lines = ["4", " ".join(names)]
    for number, row in enumerate(values, start=1):
        name = f"{number:06}.jpg"
        Image.new("RGB", (178, 218), (40 * number, 0, 0)).save(place / "img_align_celeba" / name, quality=95)
        lines.append(f"{name} " + "  ".join(map(str, row)))
    (place / "list_attr_celeba.txt").write_text("\n".join(lines) + "\n")
    (place / "list_eval_partition.txt").write_text("000001.jpg 0\n000002.jpg 0\n000003.jpg 2\n000004.jpg 1\n")
    return tmp_path


def test_celeba(celeba, monkeypatch) -> None:
    monkeypatch.setenv("LOPSIDED_DATA", str(celeba))
    everyone = load_celeba(split="all", size=(16, 12))
    assert everyone.pixels.shape == (4, 16, 12, 3)
    assert everyone.labels.tolist() == [1, 0, 0, 1]
    assert everyone.groups.tolist() == [0, 1, 1, 1]
    # one colour per picture; jpg moves it a little
    assert np.abs(everyone.pixels[2, :, :, 0].astype(int) - 120).max() <= 3
    train = load_celeba(celeba, label="Bald", group=None)
    assert (train.size, train.labels.tolist(), train.groups) == (2, [0, 0], None)
    assert load_celeba(celeba, split="test").labels.tolist() == [0]


def test_celeba_mistakes(celeba, tmp_path) -> None:
    with pytest.raises(InputError, match="an attribute of CelebA"):
        load_celeba(celeba, label="Tall")
    with pytest.raises(InputError, match="project page"):
        load_celeba(tmp_path / "elsewhere")
    place = celeba / "celeba"
    (place / "list_eval_partition.txt").unlink()
    with pytest.raises(InputError, match="split 'all'"):
        load_celeba(celeba)
    (place / "img_align_celeba" / "000002.jpg").unlink()
    with pytest.raises(InputError, match="000002"):
        load_celeba(celeba, split="all")
    (place / "list_attr_celeba.txt").write_text("2\nBald\n000001.jpg 0\n")
    with pytest.raises(InputError, match="-1 or 1"):
        load_celeba(celeba, split="all")


def test_image_folders(tmp_path, pictures) -> None:
    pixels, _ = pictures
    for name, number in (("cats", 0), ("cats", 1), ("dogs", 2)):
        (tmp_path / name).mkdir(exist_ok=True)
        Image.fromarray(pixels[number]).save(tmp_path / name / f"{number}.png")
    found = load_image_folder(tmp_path)
    assert found.class_names == ("cats", "dogs")
    assert found.labels.tolist() == [0, 0, 1]
    np.testing.assert_array_equal(found.pixels, pixels[:3])
    assert load_image_folder(tmp_path, at_most=2).labels.tolist() == [0, 1]
    assert load_image_folder(tmp_path, size=(8, 8)).pixels.shape == (3, 8, 8, 3)
    Image.fromarray(pixels[3][:16]).save(tmp_path / "dogs" / "small.png")
    with pytest.raises(InputError, match="pictures of one size"):
        load_image_folder(tmp_path)
    with pytest.raises(InputError, match="which does not exist"):
        load_image_folder(tmp_path / "nowhere")


def test_shapes_for_networks() -> None:
    digits = load_images("digits")
    small = digits.shrunk(2)
    assert small.pixels.shape[1:] == (4, 4)
    assert small.pixels[0, 0, 0] == np.rint(digits.pixels[0, :2, :2].mean())
    planes = digits.planes()
    assert planes.shape[1:] == (1, 8, 8)
    assert (planes.min(), planes.max()) == (0.0, 1.0)
    train, test = standardised(digits, load_images("digits", split="test"))
    assert abs(float(train.mean(dtype=np.float64))) < 1e-6  # float32 numbers of order 1, 1e5 of them
    assert abs(float(train.std(dtype=np.float64)) - 1) < 1e-6
    # the test set is scaled by the training set's numbers, so it is near these, not at them
    assert 1e-4 < abs(float(test.mean(dtype=np.float64))) < 0.05
    with pytest.raises(InputError, match="divides 8"):
        digits.shrunk(3)


def test_groups() -> None:
    digits = load_images("digits")
    grouped = groups_of_classes(digits, {"small": ["0", "1"], "large": ["9"]})
    assert set(grouped.labels.tolist()) == {0, 1, 9}
    np.testing.assert_array_equal(grouped.groups, (grouped.labels == 9).astype(int))
    assert grouped.group_names == ("small", "large")
    with pytest.raises(InputError, match="a class of digits"):
        groups_of_classes(digits, {"letters": ["a"]})
    with pytest.raises(InputError, match="in two"):
        groups_of_classes(digits, {"one": ["1"], "two": ["1"]})
