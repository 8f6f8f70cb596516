"""Writes files whose names a server chose: never outside the directory, never through a link, whole or not at all."""
from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import IO, List, Mapping, Union

from .errors import InvalidError, ProtocolError
from .text import printable

_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


def save_below(directory: Union[str, "os.PathLike[str]"], files: Mapping[str, bytes], *, hidden: bool = False) -> List[Path]:
    parts = {name: _split(name) for name in files}  # all of them are checked before one is written
    for name in files:
        if not hidden and any(map(_is_obeyed, parts[name])):
            raise InvalidError(
                f"the program named a file `{printable(name)}`, which tools on this machine would obey", code="invalid", hint="hidden=True saves it as well"
            )
    os.makedirs(directory, exist_ok=True)
    return [_save(directory, parts[name], data) for name, data in files.items()]


def _split(name: str) -> List[str]:
    parts = name.split("/")
    if any(p in ("", ".", "..") or "\0" in p or (os.name == "nt" and set(p) & set('\\:')) for p in parts):
        raise ProtocolError("the server named a file whose path leads out of the directory")
    return parts


def _is_obeyed(part: str) -> bool:
    """Settings such as `.git/config`, a directory that git takes for a repository, and code that Python runs without its source."""
    return part.startswith(".") or part.lower() in ("head", "__pycache__")


def _save(directory: Union[str, "os.PathLike[str]"], parts: List[str], data: bytes) -> Path:
    at = os.open(directory, _DIRECTORY)
    try:
        for part in parts[:-1]:
            try:
                os.mkdir(part, dir_fd=at)
            except FileExistsError:
                pass
            below = os.open(part, _DIRECTORY | _NO_LINK, dir_fd=at)
            os.close(at)
            at = below
        temporary = f".{secrets.token_hex(8)}.part"
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=at)
        try:
            with open(fd, "wb") as file:
                file.write(data)
            os.replace(temporary, parts[-1], src_dir_fd=at, dst_dir_fd=at)
        except BaseException:
            os.unlink(temporary, dir_fd=at)
            raise
    finally:
        os.close(at)
    return Path(directory, *parts)


class Replacing:
    """A new file that takes its name when it is whole."""

    def __init__(self, path: Union[str, "os.PathLike[str]"]) -> None:
        self.path = Path(path)
        self._temporary = self.path.with_name(f".{secrets.token_hex(8)}.part")
        self.file: IO[bytes] = open(self._temporary, "xb")

    def finish(self) -> None:
        self.file.close()
        os.replace(self._temporary, self.path)

    def discard(self) -> None:
        self.file.close()
        self._temporary.unlink(missing_ok=True)
