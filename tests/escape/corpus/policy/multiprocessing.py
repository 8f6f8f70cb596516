# id: policy-multiprocessing
# category: policy
# profile: strict
# threat: starts processes through the standard library
# expect: refused
import multiprocessing
import concurrent.futures
p = multiprocessing.Process(target=print, args=('ESC' + 'APED:',))
p.start()
p.join()
