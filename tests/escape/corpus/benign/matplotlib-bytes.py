# id: benign-matplotlib-bytes
# category: benign
# profile: strict
# threat: none: a plot into memory
# expect: success
# require: PNG
# limits: timeout=30 memory=512
import matplotlib
matplotlib.use('Agg')
import matplotlib.pyplot as plt
from io import BytesIO
fig, ax = plt.subplots()
ax.plot([1, 2, 3], [1, 4, 9], label='squares')
ax.legend()
ax.set_title('title with $x^2$')
b = BytesIO()
fig.savefig(b, format='png')
print(b.getvalue()[1:4].decode(), len(b.getvalue()) > 1000)
