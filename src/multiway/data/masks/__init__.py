"""Images with masks: known sets to segment."""
