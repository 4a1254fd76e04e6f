"""From files to checked, typed batches; knows no model."""
