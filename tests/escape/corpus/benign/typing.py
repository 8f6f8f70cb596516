# id: benign-typing
# category: benign
# profile: strict
# threat: none: annotated code
# expect: success
# require: 3
from __future__ import annotations
from typing import Any, Callable, Generic, Iterable, Optional, Protocol, TypedDict, TypeVar, Union, Literal
T = TypeVar('T')
class Stack(Generic[T]):
    def __init__(self) -> None:
        self.items: list[T] = []
    def push(self, item: T) -> None:
        self.items.append(item)
    def __len__(self) -> int:
        return len(self.items)
class Row(TypedDict, total=False):
    a: int
def f(x: Optional[int], g: Callable[[int], int] = lambda v: v + 1) -> Union[int, None]:
    return g(x) if x else None
s: Stack[int] = Stack()
s.push(1)
print(f(2), len(s), Row(a=1))
