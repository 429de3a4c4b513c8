"""A small sentence-transformers model made on the spot: random weights, a vocabulary of a few words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

WORDS = """
def class return self open close read write session cookie request response user name value key list dict file
path line error raise if else for in while try except import from as with not and or is none
""".split()  # noqa: SIM905 - a list of words reads best as words


def make_tiny_model(folder: Path, dense_layer: bool = True) -> Path:
    """BERT of 2 layers, mean pooling, and a dense layer behind it: 24
    dimensions, no Normalize, prompts. Without that layer 32.
    """
    # Kept out of processes that want only the texts.
    from sentence_transformers import SentenceTransformer, models  # noqa: PLC0415
    from transformers import BertModel  # noqa: PLC0415

    bert = folder / "bert"
    _save(bert, BertModel)
    transformer = models.Transformer(str(bert), max_seq_length=96)
    modules = [transformer, models.Pooling(32), *([models.Dense(32, 24)] if dense_layer else [])]
    model = SentenceTransformer(modules=modules, device="cpu", prompts={"query": "request ", "document": ""})
    model.save(str(folder / "model"), create_model_card=False)
    return folder / "model"


def make_tiny_reranker(folder: Path, labels: int = 1) -> Path:
    """A cross-encoder of the same kind, with so many scores a pair."""
    from transformers import BertForSequenceClassification  # noqa: PLC0415 - see above

    _save(folder, BertForSequenceClassification, num_labels=labels)
    return folder


def _save(bert: Path, architecture: Any, **options: Any) -> None:
    """Random weights, always the same, with their tokenizer."""
    import torch  # noqa: PLC0415 - see above
    from tokenizers import BertWordPieceTokenizer  # noqa: PLC0415
    from transformers import BertConfig, PreTrainedTokenizerFast  # noqa: PLC0415

    torch.manual_seed(7)
    bert.mkdir(parents=True)
    pieces = [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz0123456789"]
    letters = [piece[2:] for piece in pieces]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *letters, *pieces, *"()_:.,="]
    vocab = {piece: number for number, piece in enumerate(dict.fromkeys(vocabulary))}
    config = BertConfig(
        vocab_size=len(vocab),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=128,
        **options,
    )
    architecture(config).save_pretrained(bert)
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=BertWordPieceTokenizer(vocab)._tokenizer,
        unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]",
    )  # fmt: skip
    tokenizer.save_pretrained(bert)


def texts(count: int) -> list[str]:
    """Different texts of many lengths."""
    made = []
    for number in range(count):
        words = [WORDS[(number * 7 + i * i) % len(WORDS)] for i in range(number * 13 % 90)]
        made.append(" ".join([f"name{number}", *words]))
    return made


def set_model_type(folder: Path, model_type: str) -> None:
    """Rewrite what config.json says of the architecture."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps(config | {"model_type": model_type}))
