"""The messages that cross a model's context window, and their sum."""
import json


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class Transcript:
    """Turns of one task. A turn is what the model asks for at once and what comes back; `fixed` is there before the first."""

    def __init__(self, fixed):
        self.fixed = fixed  # texts
        self.turns = []  # (texts asked, texts answered)

    def add(self, asked, answered):
        self.turns.append((asked, answered))

    def texts(self):
        return [*self.fixed, *(text for turn in self.turns for part in turn for text in part)]

    def totals(self, count):
        """`count` gives the tokens of a text.

        unique: the task's messages, each once. fixed: what is there for any task. peak: both, the most that must fit at
        once. billed: the sum of what is sent again with every request, without a cache.
        """
        fixed = sum(map(count, self.fixed))
        prefix = billed = fixed
        for asked, answered in self.turns:
            prefix += sum(map(count, asked)) + sum(map(count, answered))
            billed += prefix
        return {"fixed": fixed, "unique": prefix - fixed, "peak": prefix, "billed": billed}
