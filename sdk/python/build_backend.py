"""Builds the package for pip (PEP 517, PEP 660), with nothing but the standard library: an installation needs no network."""
from __future__ import annotations

import base64
import hashlib
import io
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any, Dict, Mapping, Optional

HERE = Path(__file__).resolve().parent
PACKAGE = "belljar_client"
TIME = (1980, 1, 1, 0, 0, 0)  # the same source makes the same file


def _project() -> Dict[str, Any]:
    project: Dict[str, Any] = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project


def _metadata(project: Mapping[str, Any]) -> str:
    return (
        "Metadata-Version: 2.1\n"
        f"Name: {project['name']}\n"
        f"Version: {project['version']}\n"
        f"Summary: {project['description']}\n"
        f"Requires-Python: {project['requires-python']}\n"
    )


def _sources() -> Dict[str, bytes]:
    files = sorted(p for p in (HERE / PACKAGE).rglob("*") if p.suffix == ".py" or p.name == "py.typed")
    return {p.relative_to(HERE).as_posix(): p.read_bytes() for p in files}


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode("ascii")


def _wheel(directory: str, files: Mapping[str, bytes]) -> str:
    project = _project()
    name = f"{project['name'].replace('-', '_')}-{project['version']}"
    info = f"{name}.dist-info"
    whole = {
        **files,
        f"{info}/METADATA": _metadata(project).encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: belljar\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},sha256={_digest(data)},{len(data)}\n" for path, data in whole.items())
    whole[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    wheel = f"{name}-py3-none-any.whl"
    with zipfile.ZipFile(Path(directory, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in whole.items():
            entry = zipfile.ZipInfo(path, TIME)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return wheel


def build_wheel(wheel_directory: str, config_settings: Optional[Any] = None, metadata_directory: Optional[str] = None) -> str:
    return _wheel(wheel_directory, _sources())


def build_editable(wheel_directory: str, config_settings: Optional[Any] = None, metadata_directory: Optional[str] = None) -> str:
    return _wheel(wheel_directory, {f"{PACKAGE}.pth": f"{HERE}\n".encode()})


def build_sdist(sdist_directory: str, config_settings: Optional[Any] = None) -> str:
    project = _project()
    name = f"{project['name'].replace('-', '_')}-{project['version']}"
    files = {
        **_sources(),
        "pyproject.toml": (HERE / "pyproject.toml").read_bytes(),
        "build_backend.py": Path(__file__).read_bytes(),
        "PKG-INFO": _metadata(project).encode(),
    }
    with tarfile.open(Path(sdist_directory, f"{name}.tar.gz"), "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for path, data in files.items():
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return f"{name}.tar.gz"
