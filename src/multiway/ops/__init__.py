"""Pure functions of tensors: the algebra that every layer stands on."""

from multiway.ops.attention import apply_factors as apply_factors
from multiway.ops.attention import kernel_factor as kernel_factor
from multiway.ops.attention import masked_softmax as masked_softmax
from multiway.ops.attention import normalised_features as normalised_features
from multiway.ops.attention import softmax_factor as softmax_factor
from multiway.ops.feature_maps import FEATURE_MAPS as FEATURE_MAPS
from multiway.ops.feature_maps import default_num_features as default_num_features
from multiway.ops.feature_maps import elu_log_features as elu_log_features
from multiway.ops.feature_maps import kernel_features as kernel_features
from multiway.ops.feature_maps import kernel_logits as kernel_logits
from multiway.ops.feature_maps import orthogonal_projection as orthogonal_projection
from multiway.ops.feature_maps import positive_log_features as positive_log_features
from multiway.ops.feature_maps import smreg_log_features as smreg_log_features
from multiway.ops.kronecker import exact_kronecker_decomposition as exact_kronecker_decomposition
from multiway.ops.kronecker import kronecker_apply as kronecker_apply
from multiway.ops.kronecker import kronecker_decompose as kronecker_decompose
from multiway.ops.kronecker import kronecker_product as kronecker_product
from multiway.ops.kronecker import nearest_kronecker as nearest_kronecker
from multiway.ops.multilinear import fold as fold
from multiway.ops.multilinear import mode_product as mode_product
from multiway.ops.multilinear import multi_mode_product as multi_mode_product
from multiway.ops.multilinear import unfold as unfold
from multiway.ops.pooling import pool_modes as pool_modes
from multiway.ops.pooling import project_and_pool as project_and_pool
from multiway.ops.ridge import ridge_path as ridge_path
from multiway.ops.rotary import rotate as rotate
