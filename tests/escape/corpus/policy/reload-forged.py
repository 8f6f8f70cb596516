# id: policy-reload-forged
# category: policy
# profile: standard
# threat: a module of the program's own takes the name of one of the library, and is loaded again
# expect: refused error
# limits: timeout=10 memory=512
import importlib
import pathlib
import sys
pathlib.Path("mine.py").write_text("x = 1\n")
import mine
sys.modules["operator"] = mine
setattr(mine, "__na" + "me__", "operator")
setattr(mine, "__sp" + "ec__", sys.modules["keyword"])
importlib.reload(mine)
print("ESC" + "APED:", mine.attrgetter("__glo" + "bals__")(importlib.import_module))
