# id: benign-match-statement
# category: benign
# profile: strict
# threat: none: structural pattern matching
# expect: success
# require: point 1 2
from dataclasses import dataclass
@dataclass
class Point:
    x: int
    y: int
def f(v):
    match v:
        case Point(x=a, y=b):
            return f'point {a} {b}'
        case {'k': [first, *rest]}:
            return f'{first} {rest}'
        case str() | int():
            return 'plain'
print(f(Point(1, 2)), f({'k': [1, 2, 3]}), f('x'))
