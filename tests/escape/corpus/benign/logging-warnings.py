# id: benign-logging-warnings
# category: benign
# profile: strict
# threat: none: logging to the streams
# expect: success
# require: careful
import logging
import warnings
logging.basicConfig(level=logging.INFO)
logging.getLogger('x').info('careful %s', 1)
warnings.warn('look out')
print('careful')
