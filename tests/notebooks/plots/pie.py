# figures: 1  charts: pie
import matplotlib.pyplot as plt

fig, ax = plt.subplots()
ax.pie([35, 30, 20, 15], labels=["rain", "sun", "cloud", "fog"], explode=[0, 0.1, 0, 0], autopct="%1.0f%%", shadow=True, startangle=90)
ax.axis("equal")
plt.show()
