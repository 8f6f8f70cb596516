# id: policy-module-of-module-many
# category: policy
# profile: strict
# threat: tries every known road from an allowed module to os or sys
# expect: refused error success
import statistics, random, dataclasses, enum, re, csv, datetime, json, decimal, fractions, calendar, textwrap, functools, collections
roads = [
    lambda: calendar.sys.modules['os'],
    lambda: enum.sys.modules['os'],
    lambda: dataclasses.sys.modules['os'],
    lambda: statistics.sys.modules['os'],
    lambda: re.enum.sys.modules['os'],
    lambda: fractions.sys.modules['os'],
    lambda: csv.io.os,
    lambda: collections.abc.sys.modules['os'],
]
for road in roads:
    try:
        road().system('echo ESC""APED:')
        print('ESC' + 'APED:', road().listdir('/'))
    except Exception as e:
        print(type(e).__name__)
