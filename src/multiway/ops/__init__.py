"""Pure functions of tensors: the algebra that every layer stands on."""
