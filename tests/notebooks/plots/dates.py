# figures: 1  charts: line
"""Dates on an axis, a second axis, styles, and text of several scripts."""
import datetime

import matplotlib.dates as mdates
import matplotlib.pyplot as plt

days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=7 * k) for k in range(20)]
values = [k * (20 - k) for k in range(20)]
with plt.style.context("ggplot"):
    fig, ax = plt.subplots()
    ax.plot(days, values, marker="o", markevery=4)
    ax.xaxis.set_major_formatter(mdates.DateFormatter("%d %b"))
    ax.secondary_yaxis("right", functions=(lambda v: v / 10, lambda v: v * 10))
    ax.set_title("Straße, Ελλάδα, привет")
    fig.autofmt_xdate()
    plt.show()
