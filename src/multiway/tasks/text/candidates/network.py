"""A network on words from scratch, on vectors of a frozen encoder, or on an encoder that is tuned with it."""

from torch import nn

from multiway.data.encoders import token_encoder
from multiway.models import TunedText, create_model
from multiway.tasks.options import network_fields
from multiway.tasks.sample_candidate import Basis, TargetNetwork
from multiway.tasks.text.config import network_sizes


class TextNetwork(TargetNetwork):
    """The network that the inputs of the config take, if it names no other."""

    def build(self, basis: Basis) -> nn.Module:
        """Drawn for the texts; on its encoder where that is tuned."""
        config, state = basis
        features = state.num_ids if state.inputs == "words" else state.width
        sizes = network_sizes(config.inputs, features, state.length, len(state.classes))
        network = create_model(config.model_name, **network_fields(config.model, **sizes))
        return TunedText(token_encoder(config.text).network(), network) if state.inputs == "tokens" else network


CANDIDATE = TextNetwork()
