"""The Layer-Peeled Model (Fang, He, Long and Su 2021): what the last layer does when training is long enough.

    minimise f(Z) = sum_k (n_k/N) CE(Z_k, k)   subject to   |Z|_* <= tau = K sqrt(E_H E_W)          (eq 91)

Z = W H holds the logits of the class means. Two class sizes are solved by scalar roots, with thresholds in closed form
(`two_sizes`), any sizes by a certified Newton method (`newton`) on the program with equal sizes merged
(`merged`). Nonnegative features have a closed form (`relu_features`).
"""
