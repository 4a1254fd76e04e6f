"""`multiway doctor`: what this installation runs on."""

import importlib.metadata
import os
import platform
import re
from collections.abc import Iterator

from multiway.cli import show
from multiway.cli.show import Output, Row

EXTRAS = {
    "polars": "frames of polars",
    "excel": "tables of Excel",
    "explain": "pictures of `multiway explain`",
    "demo": "weather to try it on",
    "text": "a MiniLM as the encoder of texts",
    "trees": "boosted trees as candidates",
    "arima": "ETS, Theta and ARIMA as candidates",
    "lightgbm": "LightGBM as a candidate of forecasts and tables",
    "boosting": "CatBoost and LightGBM as candidates of tables",
    "fracast": "Fracast-0, which forecasts without a training, as a candidate",
    "tune": "`multiway tune`",
    "tensorboard": "curves of a training in TensorBoard",
    "trackio": "curves of a training in trackio",
    "peft": "adapters in Hugging Face's PEFT",
    "holidays": "public holidays as covariates",
    "sessions": "the calendars of exchanges",
    "grids": "NetCDF and Zarr files of grids",
    "images": "images in files",
    "teachers": "teachers for images",
    "volumes": "NIfTI, DICOM, and gradients of volumes",
    "export": "models as ONNX",
}
NAMED = ("multiway", "torch", "numpy", "pandas", "pyarrow", "accelerate", "safetensors")


def doctor_command() -> Output:
    """Say what is installed, what it runs on, and what each missing extra would bring."""
    installed = {name: _version(name) or "not installed" for name in NAMED}
    facts = {"python": platform.python_version(), **installed, **_machine()}
    rows: list[Row] = list(_extras())
    width = max(map(len, facts))
    lines = [f"{name.ljust(width)}  {value}" for name, value in facts.items()]
    absent = [str(row["extra"]) for row in rows if row["missing"]]
    command = (
        f"Install what is missing: pip install 'multiway[{','.join(absent)}]'" if absent else "No extra is missing."
    )
    return Output(
        lines=[*lines, "", *show.align_rows(rows), "", command], document=lambda: {"facts": facts, "extras": rows}
    )


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _machine() -> dict[str, str]:
    """Processor, kernels, threads and devices."""
    import torch

    from multiway.kernels.library import library

    names = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    return {
        "system": platform.platform(),
        "processor": f"{platform.machine()}, {os.cpu_count()} cores, {torch.backends.cpu.get_cpu_capability()}",
        "kernels": "compiled, and loaded" if library() else "not built, as there is no C compiler: torch does the work",
        "threads": str(torch.get_num_threads()),
        "devices": ", ".join(["cpu", *names]),
    }


def _extras() -> Iterator[Row]:
    """A row per extra: the packages that it lacks, and what they bring."""
    needs = [re.fullmatch(r"([\w.-]+).*; extra == ['\"]([\w-]+)['\"]", line) for line in _requirements()]
    for extra, purpose in EXTRAS.items():
        packages = [found[1] for found in needs if found and found[2] == extra]
        absent = [package for package in packages if _version(package) is None]
        yield {"extra": extra, "missing": ", ".join(absent), "brings": purpose}


def _requirements() -> list[str]:
    try:
        return importlib.metadata.requires("multiway") or []
    except importlib.metadata.PackageNotFoundError:
        return []
