"""A small network with a tokenizer, drawn at random, in the form in which real ones come."""

import string
import zipfile
from pathlib import Path

import torch

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "$", "up", "down", "apple", "rises", "falls", "ford", "buys"]
TEXTS = ["apple rises", "$ ford falls", "up", "", "ford buys apple $ up up up down", "apple rises", "zq falls"]


def save_network(folder: Path, *, seed: int = 0, positions: int = 20) -> Path:
    """Write config, tokenizer and weights of a BERT of two layers and 12 features."""
    import transformers
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    words = [*WORDS, *string.ascii_lowercase, *(f"##{letter}" for letter in string.ascii_lowercase)]
    vocabulary = {word: place for place, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    borders = [("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=borders)
    sizes = {"hidden_size": 12, "intermediate_size": 35, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = transformers.BertConfig(vocab_size=len(words), max_position_embeddings=positions, **sizes)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = transformers.BertModel(config)
    for weight in network.parameters():
        weight.data.mul_(10)  # as drawn, words hardly differ
    transformers.utils.logging.disable_progress_bar()
    network.save_pretrained(folder)
    named = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named).save_pretrained(folder)
    transformers.utils.logging.enable_progress_bar()
    return folder


def pack(folder: Path, archive: Path) -> Path:
    """Put a network's files into a zip, with one whose name leads out of any folder."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(folder.iterdir()):
            packed.write(path, path.name)
        packed.writestr("../outside.txt", "no")
    return archive
