# id: benign-open-sqlite
# category: benign
# profile: open
# threat: none: a database file in the workspace
# expect: success
# require: 42
# process: names /workspace
import sqlite3
c = sqlite3.connect('/workspace/x.db')
c.execute('create table t(a)')
c.execute('insert into t values (42)')
c.commit()
print(c.execute('select a from t').fetchone()[0])
