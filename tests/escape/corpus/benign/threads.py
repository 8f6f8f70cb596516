# id: benign-threads
# category: benign
# profile: strict
# threat: none: threads and executors
# expect: success
# require: 285
import threading
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(4) as pool:
    print(sum(pool.map(lambda n: n * n, range(10))))
t = threading.Thread(target=print, args=('in a thread',))
t.start()
t.join()
