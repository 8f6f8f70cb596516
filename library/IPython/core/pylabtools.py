"""matplotlib asks for these once IPython is loaded. Pictures are shown by Belljar."""

backends = {"inline": "agg", "agg": "agg"}
backend2gui = {}


def figsize(width, height):
    import matplotlib

    matplotlib.rcParams["figure.figsize"] = [width, height]
