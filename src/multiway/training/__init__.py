"""The loop, checkpoints and run folders; takes any `nn.Module`."""
