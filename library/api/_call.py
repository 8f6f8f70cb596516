"""Calls to the outside: call("state.list") and the like. The supervisor decides whether a call is granted."""

import json

import _belljar_call


class CallError(RuntimeError):
    """A call was refused or failed: `code` and `hint` say why and what would help."""

    def __init__(self, message, code="unavailable", hint=None):
        super().__init__(f"{message} ({hint})" if hint else message)
        self.code, self.hint = code, hint


def call(name, /, **arguments):
    """Makes a call and returns its value; arguments and value are plain data. Raises CallError."""
    text = json.dumps(arguments, ensure_ascii=False, allow_nan=False)
    try:
        is_ok, answer = _belljar_call.call(name, text)
    except (RuntimeError, UnicodeEncodeError) as error:
        raise CallError(str(error)) from None
    except ValueError as error:
        raise CallError(str(error), "too_large") from None
    value = json.loads(answer)
    if is_ok:
        return value
    raise CallError(value["message"], value["code"], value.get("hint"))
