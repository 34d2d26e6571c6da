"""What a person may give to `Monitor` and to its adapters for trainers, documented once."""

from lopsided.core.parameters import entries_of

MONITOR_PARAMETERS = entries_of("""
model : torch.nn.Module
    Any network, also inside DataParallel, DistributedDataParallel or torch.compile.
head : str or torch.nn.Module, optional
    The layer that gives the logits. By default, the last linear layer.
features : str or torch.nn.Module, optional
    The layer whose output is the features. By default, what enters the head.
loss : torch.nn.Module, optional
    The loss, called as loss(logits, labels), from which the monitor gets the labels.
labels : str, optional
    The keyword of the model's forward that holds the labels.
optimizer : torch.optim.Optimizer, optional
    The optimizer; forecasts use its weight decay, step and momentum, and its steps are counted.
settings : RunSettings or dict, optional
    Settings that model, loss and optimizer do not show, or that should override them.
counts : list, dict or str, optional
    Training examples per class, as "5000*5,50*5" or by name. By default, those of the data in `before`, else those
    counted in the largest epoch so far; so give them if a sampler repeats examples.
names : list of str, optional
    The names of the classes, for the warnings.
minority : list of int, optional
    The minority classes. By default, those with fewer examples than the mean.
groups : list of str, default ()
    The names of the groups whose codes are given to `update`.
loggers : Logger or list of Logger, optional
    Where the numbers go after each epoch; see `lopsided.torch.Logger`.
warn_at : float, default 0.9
    Warn that classes merge if the cosine of their weights is at least this for `patience` epochs.
patience : int, default 2
    Number of epochs in a row for `warn_at`.
layers : bool or list of str, default True
    Track every layer, none, or the named ones.
spectra_every : int, default 10
    Epochs between whole spectra of the layers' changes, and of the logits of a head with more than 128 classes and
    features; 0 for none. They are computed in epochs that are measured in full, and more rarely for short epochs.
patterns : int, default 64
    Number of examples to track activation patterns on; 0 for none.
observe_every : int, optional
    After the first 6400 examples of a training epoch, one batch in this many is observed; held-out batches all are. 1
    observes all. By default, one in 16 (for more than 256 classes, after the first 1024 examples).
scatter_every : int, optional
    After the first 512 examples of an epoch, one example in this many feeds the within-class scatter and NC4. By
    default, this is chosen to cost a quarter of a percent of the network's arithmetic.
ignore_index : int, default -100
    The label to ignore.
all_reduce : bool, default False
    Add the sums of all processes at the end of an epoch.
epochs : int, optional
    The planned length of the training, for `seen`.
steps : int, optional
    The same in steps of the optimizer.
scheduler : learning-rate scheduler, optional
    Gives the planned length if neither `epochs` nor `steps` does.
geometry_every : int, optional
    Epochs between measurements of NC1-NC4, angles of class means, variances, layers and activation patterns. By
    default, 1 for epochs of 300,000 examples and more (1,200,000 for more than 64 classes; fewer for networks of more
    than 500,000 weights, in proportion), up to 60 for short ones.
before : DataLoader, RecallOutlook or False, optional
    Forecasts of recall use how far simple rules separate the classes of the training data. By default, a sample of the
    inputs in the first epoch is compared, which needs `optimizer`, and `epochs`, `steps` or a schedule; False does
    without. With the training data, or the result of `recall_before` on them, they are compared at once; a DataLoader
    needs `optimizer` and `epochs` or `steps`.
""")
