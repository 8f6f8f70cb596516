# id: benign-classes
# category: benign
# profile: strict
# threat: none: classes with the usual special methods
# expect: success
# require: Vec(4, 6)
from abc import ABC, abstractmethod
class Shape(ABC):
    @abstractmethod
    def area(self):
        ...
class Vec(Shape):
    __slots__ = ('x', 'y')
    def __init__(self, x, y):
        super().__init__()
        self.x, self.y = x, y
    def __add__(self, o):
        return Vec(self.x + o.x, self.y + o.y)
    def __repr__(self):
        return f'{type(self).__name__}({self.x}, {self.y})'
    def __eq__(self, o):
        return isinstance(o, Vec) and (self.x, self.y) == (o.x, o.y)
    def __hash__(self):
        return hash((self.x, self.y))
    def __iter__(self):
        yield from (self.x, self.y)
    def area(self):
        return 0
    @classmethod
    def zero(cls):
        return cls(0, 0)
    @property
    def size(self):
        return (self.x ** 2 + self.y ** 2) ** .5
    @staticmethod
    def unit():
        return Vec(1, 0)
print(Vec(1, 2) + Vec(3, 4), sorted([3, 1]), {Vec.zero(): 1}, list(Vec.unit()), Vec(3, 4).size)
