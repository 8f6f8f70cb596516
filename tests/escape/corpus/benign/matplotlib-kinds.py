# id: benign-matplotlib-kinds
# category: benign
# profile: strict
# threat: none: bars, histograms, images, PDF and SVG into memory
# expect: success
# require: drawn
# limits: timeout=40 memory=512
import matplotlib.pyplot as plt
import numpy as np
from io import BytesIO
fig, axes = plt.subplots(2, 2)
axes[0][0].bar(['a', 'b'], [1, 2])
axes[0][1].hist(np.arange(100) % 7)
axes[1][0].imshow(np.eye(4))
axes[1][1].scatter([1, 2], [3, 4])
for kind in ('svg', 'pdf'):
    b = BytesIO()
    fig.savefig(b, format=kind)
print('drawn')
