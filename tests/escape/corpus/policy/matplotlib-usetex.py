# id: policy-matplotlib-usetex
# category: policy
# profile: strict
# threat: starts a TeX and other helper programs through a plotting library
# expect: refused error success
# limits: timeout=15 memory=512
import matplotlib.pyplot as plt
from io import BytesIO
plt.rcParams['text.usetex'] = True
try:
    plt.title(r'\immediate\write18{echo ESC""APED:}')
    plt.savefig(BytesIO())
except Exception as e:
    print(type(e).__name__)
