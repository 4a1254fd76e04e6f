"""A plain U-Net of the size of the network."""

from multiway.tasks.scans.candidates.segment.network import PatchNetwork


class PlainNetwork(PatchNetwork):
    """A plain U-Net of the size of the network."""

    name, words, cost, is_plain = "unet", "U-Net", 3, True


CANDIDATE = PlainNetwork()
