"""What a model looked at, as labelled arrays and figures."""
