# id: control-str-raises
# category: control
# profile: strict
# threat: an exception that cannot be printed
# expect: error
class E(Exception):
    def __str__(self):
        raise SystemExit(0)
    def __repr__(self):
        raise KeyboardInterrupt
raise E
