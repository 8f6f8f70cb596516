# id: policy-matplotlib-savefig-path
# category: policy
# profile: strict
# threat: writes a picture to a file of the host
# expect: refused error
# limits: timeout=15 memory=512
import matplotlib.pyplot as plt
plt.plot([1, 2])
plt.savefig('@CANARY_DIR@/pwned.png')
print('ESC' + 'APED:')
