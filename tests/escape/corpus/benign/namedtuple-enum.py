# id: benign-namedtuple-enum
# category: benign
# profile: strict
# threat: none: generated classes
# expect: success
# require: RED
from collections import namedtuple, defaultdict, Counter, OrderedDict, deque
from enum import Enum, auto
from typing import NamedTuple
class Color(Enum):
    RED = auto()
    BLUE = auto()
P = namedtuple('P', 'x y')
class Q(NamedTuple):
    a: int
    b: str = 'z'
print(P(1, 2)._replace(x=5), Q(1), Color.RED.name, Counter('abca').most_common(1), deque([1, 2], maxlen=1))
