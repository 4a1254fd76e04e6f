"""Runs and states that were changed by somebody who knows how their hashes are made."""

import contextlib
import json

import yaml
from safetensors.torch import load_file, save_file

from multiway import files
from multiway.files import tensor_digest
from multiway.training.stored import add_seal


def resealed(values):
    return add_seal({name: value for name, value in values.items() if name != "seal"})


def reseal(run):
    """Hash the files of a run anew, those that its manifest lists."""
    path = run / "manifest.json"
    manifest = json.loads(path.read_text())
    with contextlib.suppress(yaml.YAMLError, ValueError, AttributeError, OSError):
        config = yaml.safe_load((run / "config.yaml").read_text())
        (run / "config.yaml").write_text(yaml.safe_dump(resealed(config), sort_keys=False, allow_unicode=True))
    here = [name for name in manifest["sha256"] if (run / name).is_file()]
    path.write_text(json.dumps(resealed({**manifest, "sha256": {name: files.sha256_of(run / name) for name in here}})))


def save_resealed(path, tensors, position):
    """Write a saved state under a hash of its own."""
    text = json.dumps(position)
    save_file(tensors, path, metadata={"position": text, "sha256": tensor_digest(tensors, text)})


def read_state(path):
    """Tensors and position of a saved state."""
    head = path.read_bytes()
    size = int.from_bytes(head[:8], "little")
    return load_file(path), json.loads(json.loads(head[8 : 8 + size])["__metadata__"]["position"])
