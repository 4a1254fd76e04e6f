"""Images with masks: volumes and scenes with a class per voxel, their patches, and known sets to segment."""
