# id: policy-csv-zip-config
# category: policy
# profile: strict
# threat: allowed parsers that take a file name
# expect: refused error
import zipfile
import configparser
import sqlite3
print('ESC' + 'APED:', sqlite3.connect('@CANARY_DIR@/x.db').execute('create table t(a)'))
