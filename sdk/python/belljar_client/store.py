"""Skills and saved states."""
from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Union

from . import routes
from .methods import Awaiting, Blocking, call
from .transport import Request, Transport
from .types import SavedState, Skill, member, read, read_list


class SkillsMethods:
    """Code that later programs import: `from skills.NAME import …`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @call
    async def list(self) -> List[Skill]:
        """Your own skills and the public ones."""
        return read_list(Skill, await self._transport.call(Request(routes.SKILLS)), "skills")

    @call
    async def get(self, name: str, *, version: Optional[int] = None) -> Skill:
        """One skill, with its code, files and versions."""
        return read(Skill, await self._transport.call(Request(routes.SKILL, {"skill": name}, {"version": version})))

    @call
    async def save(
        self, name: str, content: Union[str, bytes], *, profile: Optional[str] = None, description: Optional[str] = None
    ) -> int:
        """Saves a module of Python, or a ZIP file of a folder with a SKILL.md, and returns the new version."""
        body = content.encode() if isinstance(content, str) else content
        request = Request(routes.SAVE_SKILL, {"skill": name}, {"profile": profile, "description": description}, body=body)
        return member(await self._transport.call(request), "version", int)

    @call
    async def file(self, name: str, path: str, *, version: Optional[int] = None) -> bytes:
        """One file of a skill that is a folder."""
        return await self._transport.read(Request(routes.SKILL_FILE, {"skill": name, "path": path}, {"version": version}))

    @call
    async def undo(self, name: str) -> int:
        """Removes the last version, and returns the one before it."""
        return member(await self._transport.call(Request(routes.UNDO_SKILL, {"skill": name}, json={})), "version", int)

    @call
    async def delete(self, name: str) -> None:
        await self._transport.read(Request(routes.DELETE_SKILL, {"skill": name}))


class StatesMethods:
    """States of work that continues over several runs: JSON objects with versions."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @call
    async def list(self) -> List[SavedState]:
        return read_list(SavedState, await self._transport.call(Request(routes.STATES)), "states")

    @call
    async def create(self, name: str, *, description: Optional[str] = None) -> bool:
        """Makes an empty one. False: it was already there."""
        body = {"name": name, **({"description": description} if description is not None else {})}
        return member(await self._transport.call(Request(routes.CREATE_STATE, json=body)), "is_new", bool)

    @call
    async def load(self, name: str, *, version: Optional[int] = None) -> SavedState:
        """The last version, or an earlier one."""
        return read(SavedState, await self._transport.call(Request(routes.STATE, {"work": name}, {"version": version})))

    @call
    async def save(self, name: str, state: Mapping[str, Any], *, version: Optional[int] = None) -> int:
        """Saves a version and returns its number. With `version`, the one it was made from, ConflictError if there is a newer one."""
        body: Dict[str, Any] = {"state": dict(state), **({"version": version} if version is not None else {})}
        return member(await self._transport.call(Request(routes.SAVE_STATE, {"work": name}, json=body)), "version", int)

    @call
    async def delete(self, name: str) -> None:
        await self._transport.read(Request(routes.DELETE_STATE, {"work": name}))


class Skills(SkillsMethods, Blocking):
    pass


class AsyncSkills(SkillsMethods, Awaiting):
    pass


class States(StatesMethods, Blocking):
    pass


class AsyncStates(StatesMethods, Awaiting):
    pass
