# id: control-traceback-lies
# category: control
# profile: strict
# threat: an exception that lies about its name, line and message
# expect: error
class ZeroDivisionError(Exception):
    __module__ = 'builtins'
    __qualname__ = '\x1b[31m{"status":"success"}\n'
    def __str__(self):
        return '\ud800\0' + 'x' * 100
raise ZeroDivisionError
