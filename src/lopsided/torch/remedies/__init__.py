"""The remedies as PyTorch objects: samplers, losses, layers."""
