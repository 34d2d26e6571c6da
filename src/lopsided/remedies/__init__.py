"""Labels, groups and a forecast in; sampler, weights, augmenter or loss out."""
