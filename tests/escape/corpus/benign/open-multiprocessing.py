# id: benign-open-multiprocessing
# category: benign
# profile: open
# threat: none: worker processes
# expect: success
# require: [0, 1, 4]
# limits: timeout=20
# process: needs /dev/shm
import multiprocessing
def square(n):
    return n * n
if __name__ == '__main__':
    with multiprocessing.Pool(2) as p:
        print(p.map(square, range(3)))
