"""In a Python that a program has started: the masker is part of Belljar's own interpreter."""
raise ImportError("api.masking works in the program itself, not in a Python that it starts")
