"""The task `stocks`: which way prices move, from prices and texts."""
