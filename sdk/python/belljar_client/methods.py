"""Methods that are written once, as coroutines, for a client that blocks and for one of asyncio.

Everything in this package that talks to a server is a coroutine over a `Network` (network.py). In a blocking client the
network never waits for a future, so a coroutine runs to its end in one step: `finish()`. In an `AsyncClient` it is awaited.

A class of methods is inherited twice, `class Session(SessionMethods, Blocking)` and `class AsyncSession(SessionMethods,
Awaiting)`, and the decorators below give each of them the kind of method that it needs, also to type checkers.
"""
from __future__ import annotations

import difflib
import functools
import inspect
import typing
from types import TracebackType
from typing import (
    Any,
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Concatenate,
    Coroutine,
    Generator,
    Generic,
    Iterator,
    Optional,
    ParamSpec,
    Type,
    TypeVar,
    overload,
)

P = ParamSpec("P")
T = TypeVar("T")


class Blocking:
    """Of a class whose methods wait."""


class Awaiting:
    """Of a class whose methods are awaited."""


def finish(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine that never waits for a future."""
    try:
        coroutine.send(None)
    except StopIteration as e:
        return typing.cast(T, e.value)
    coroutine.close()
    raise RuntimeError("a blocking client cannot wait for a future")


def finish_each(items: AsyncGenerator[T, None]) -> Generator[T, None, None]:
    try:
        while True:
            try:
                item: T = finish(_awaited(items.__anext__()))
            except StopAsyncIteration:
                return
            yield item
    finally:
        finish(_awaited(items.aclose()))


async def _awaited(value: Awaitable[T]) -> T:
    return await value


class Opening(Generic[T]):
    """Something to `await`, or to use in `async with`, which closes it at the end."""

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        self._opened: Any = None

    def __await__(self) -> Generator[Any, None, T]:
        return self._coroutine.__await__()

    async def __aenter__(self) -> T:
        self._opened = await self._coroutine
        opened: T = self._opened
        return opened

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self._opened.close()


class _Method(Generic[P, T]):
    """A method of two kinds. Accessed through a class, it has the signature of the function, with its fields by name."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.fields = _field_names(function)
        self.blocking = self._named(self.block)
        self.awaiting = self._named(self.wait)

    def block(self, value: Any) -> Any:
        return finish(value)

    def wait(self, value: Any) -> Any:
        return value

    def _named(self, end: Callable[[Any], Any]) -> Callable[..., Any]:
        function, fields = self.function, self.fields

        @functools.wraps(function)
        def method(self: Any, /, *args: Any, **more: Any) -> Any:
            unknown = [name for name in more if name not in fields] if fields else []
            if unknown:
                near = difflib.get_close_matches(unknown[0], fields, 1)
                advice = f"; did you mean `{near[0]}`?" if near else ""
                raise TypeError(f"{function.__name__}() has no parameter `{unknown[0]}`{advice}")
            return end(function(self, *args, **more))

        if fields:
            method.__signature__ = _whole_signature(function)  # type: ignore[attr-defined]
        return method

    def _get(self, owner_of: Any, owner: Any) -> Any:
        method = self.blocking if issubclass(owner, Blocking) else self.awaiting
        return method if owner_of is None else method.__get__(owner_of, owner)


class call(_Method[P, T]):
    """One answer."""

    def __init__(self, function: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> None:
        super().__init__(function)

    @overload
    def __get__(self, of: None, owner: Any) -> Callable[..., Any]: ...

    @overload
    def __get__(self, of: Blocking, owner: Any) -> Callable[P, T]: ...

    @overload
    def __get__(self, of: Awaiting, owner: Any) -> Callable[P, Coroutine[Any, Any, T]]: ...

    def __get__(self, of: Any, owner: Any) -> Any:
        return self._get(of, owner)


class opens(_Method[P, T]):
    """Something that is closed later: `with client.session() as s`, or `async with`."""

    def __init__(self, function: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> None:
        super().__init__(function)

    def wait(self, value: Any) -> Any:
        return Opening(value)

    @overload
    def __get__(self, of: None, owner: Any) -> Callable[..., Any]: ...

    @overload
    def __get__(self, of: Blocking, owner: Any) -> Callable[P, T]: ...

    @overload
    def __get__(self, of: Awaiting, owner: Any) -> Callable[P, Opening[T]]: ...

    def __get__(self, of: Any, owner: Any) -> Any:
        return self._get(of, owner)


class each(_Method[P, T]):
    """Things one after the other, as they come."""

    def __init__(self, function: Callable[Concatenate[Any, P], AsyncIterator[T]]) -> None:
        super().__init__(function)

    def block(self, value: Any) -> Any:
        return finish_each(value)

    @overload
    def __get__(self, of: None, owner: Any) -> Callable[..., Any]: ...

    @overload
    def __get__(self, of: Blocking, owner: Any) -> Callable[P, Iterator[T]]: ...

    @overload
    def __get__(self, of: Awaiting, owner: Any) -> Callable[P, AsyncIterator[T]]: ...

    def __get__(self, of: Any, owner: Any) -> Any:
        return self._get(of, owner)


class plain(_Method[P, T]):
    """A method without a request of its own, which takes fields."""

    def __init__(self, function: Callable[Concatenate[Any, P], T]) -> None:
        super().__init__(function)

    def block(self, value: Any) -> Any:
        return value

    def __get__(self, of: Any, owner: Any) -> Callable[P, T]:
        return typing.cast("Callable[P, T]", self._get(of, owner))


# --- `**fields: Unpack[RunFields]` as parameters with names ---


def _fields_of(function: Callable[..., Any]) -> typing.Dict[str, Any]:
    """The TypedDict of `**fields`, as types by name; empty: the function has none."""
    variable = [p for p in inspect.signature(function).parameters.values() if p.kind is p.VAR_KEYWORD]
    if not variable:
        return {}
    (fields,) = typing.get_args(typing.get_type_hints(function)[variable[0].name])
    return typing.get_type_hints(fields)


def _field_names(function: Callable[..., Any]) -> typing.Set[str]:
    fields = _fields_of(function)
    named = inspect.signature(function).parameters.values() if fields else ()
    return {*fields, *(p.name for p in named if p.kind is not p.VAR_KEYWORD)}


def _whole_signature(function: Callable[..., Any]) -> inspect.Signature:
    """For help() and for editors that look at a running program."""
    whole = inspect.signature(function)
    named = [p for p in whole.parameters.values() if p.kind is not p.VAR_KEYWORD]
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in _fields_of(function).items()
    ]
    return whole.replace(parameters=[*named, *more])
