# id: benign-text-and-regex
# category: benign
# profile: strict
# threat: none: text work
# expect: success
# require: HELLO
import re
import string
import textwrap
import unicodedata
print(re.sub(r'(\w+)', lambda m: m[1].upper(), 'hello'), string.Template('$a').substitute(a=1), textwrap.fill('x ' * 40, 20)[:5])
print('%s %d' % ('a', 1), '{:>5}|{!r}'.format(3, 'x'), f'{3.14159:.2f}', unicodedata.normalize('NFC', 'é'), 'ß'.casefold())
