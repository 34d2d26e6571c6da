"""An order of rows, and of classes of one size, by what they hold: whatever the order of the rows and the names in the
data, the same rows are drawn and the same classes are chosen.

    key of a row = digest of its features, of how many equal rows of its class came before, and of the seed

Equal rows are interchangeable, so it does not matter which of them comes first; with their number in the key, copies
are drawn as often as they occur.
"""

import numpy as np

from lopsided.checkup.inputs.evidence import Evidence
from lopsided.core.validation import IntArray
from lopsided.data.row_digests import Digests, digest_codes, digest_numbers, empty_digests


def feature_digests(evidence: Evidence, columns: slice = slice(None)) -> Digests:
    """Of every row, by its features or some of their columns; those of all features are computed once."""
    whole = columns == slice(None)
    if whole and "feature digests" in evidence.measured:
        return np.array(evidence.measured["feature digests"])  # a copy, which may be gone on with
    found = []
    for block in evidence.features.blocks():
        found.append(empty_digests(len(block)))
        digest_numbers(found[-1], block[:, columns])
    digests: Digests = np.concatenate(found)
    if whole:
        evidence.measured["feature digests"] = digests.copy()
    return digests


def row_keys(digests: Digests, codes: IntArray, seed: int) -> IntArray:
    """The rank of every row in the order of its key, for rows with these digests and codes of classes."""
    order = np.lexsort((codes, digests[:, 1], digests[:, 0]))
    same = (digests[order][1:] == digests[order][:-1]).all(axis=1) & (codes[order][1:] == codes[order][:-1])
    starts = np.flatnonzero(np.concatenate([[True], ~same]))
    repeat = np.empty(codes.size, dtype=np.int64)
    repeat[order] = np.arange(codes.size) - np.repeat(starts, np.diff(np.append(starts, codes.size)))
    keys = digests.copy()
    digest_codes(keys, repeat)
    digest_codes(keys, np.full(codes.size, seed, dtype=np.int64))
    rank = np.empty(codes.size, dtype=np.int64)
    rank[np.lexsort((keys[:, 1], keys[:, 0]))] = np.arange(codes.size)
    return rank


def largest_classes(parts: IntArray, counts: IntArray, codes: IntArray, digests: Digests) -> IntArray:
    """The parts from the largest to the smallest, those of one size in the order of the sums of their digests."""
    sums = np.zeros(int(codes.max()) + 1, dtype=np.uint64)
    np.add.at(sums, codes, digests[:, 0])
    return parts[np.lexsort((sums[parts], -counts[parts]))]
