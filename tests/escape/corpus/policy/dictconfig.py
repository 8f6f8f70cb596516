# id: policy-dictconfig
# category: policy
# profile: strict
# threat: logging configuration names any callable
# expect: refused error
import logging.config
logging.config.dictConfig({'version': 1, 'formatters': {'f': {'()': 'os.system', 'command': 'echo ESC""APED:'}}})
print('ESC' + 'APED:')
