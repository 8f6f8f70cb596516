# id: benign-exceptions
# category: benign
# profile: strict
# threat: none: exceptions, groups, notes, finally
# expect: success
# require: caught ZeroDivisionError
import traceback
try:
    1 / 0
except ZeroDivisionError as e:
    print('caught', type(e).__name__, e.args)
    text = traceback.format_exc()
    print('division' in text)
try:
    raise ExceptionGroup('many', [ValueError('a'), KeyError('b')])
except* ValueError as g:
    print(len(g.exceptions))
except* KeyError:
    print('key')
