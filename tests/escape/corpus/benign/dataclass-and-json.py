# id: benign-dataclass-and-json
# category: benign
# profile: strict
# threat: none: dataclasses and JSON
# expect: success
# require: "n": 2
import json
from dataclasses import dataclass, asdict, field
@dataclass(order=True, frozen=True)
class R:
    n: int
    tag: str = 'a'
    more: list = field(default_factory=list, compare=False)
print(json.dumps([asdict(R(i)) for i in range(3)]))
