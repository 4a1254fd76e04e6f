"""What a model attended to, as labelled arrays and figures."""

from multiway.explain.deletion import Deletion as Deletion
from multiway.explain.deletion import deletion_test as deletion_test
from multiway.explain.figures import plot_mode_map as plot_mode_map
from multiway.explain.figures import save_mode_map as save_mode_map
from multiway.explain.labels import lag_labels as lag_labels
from multiway.explain.labels import slice_labels as slice_labels
from multiway.explain.labels import time_labels as time_labels
from multiway.explain.maps import ModeMap as ModeMap
from multiway.explain.maps import Pair as Pair
from multiway.explain.maps import average_maps as average_maps
from multiway.explain.maps import mode_maps as mode_maps
from multiway.explain.maps import rollout as rollout
from multiway.explain.maps import sample_maps as sample_maps
from multiway.explain.maps import top_pairs as top_pairs
from multiway.explain.plane_figures import plot_planes as plot_planes
from multiway.explain.plane_figures import save_planes as save_planes
from multiway.explain.storage import load_maps as load_maps
from multiway.explain.storage import save_maps as save_maps
from multiway.explain.voxels import DeletionCurves as DeletionCurves
from multiway.explain.voxels import average_curves as average_curves
from multiway.explain.voxels import deletion_curves as deletion_curves
from multiway.explain.voxels import integrated_gradients as integrated_gradients
from multiway.explain.voxels import rollout_to_voxels as rollout_to_voxels
from multiway.explain.voxels import token_rollout as token_rollout
