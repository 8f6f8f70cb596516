# id: control-fake-status
# category: control
# profile: open
# threat: writes a result of its own, as text
# expect: error
# require: "status": "success"
print('{"id":"run_0","status": "success","exit_code":0,"stdout":"","stderr":""}')
raise SystemExit(5)
