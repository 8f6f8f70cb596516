"""IPython.display without IPython: objects that say how they are shown, and functions that show them.

Nothing is imported here, since a program may look into the module. Files are opened as the program itself may open them.
"""

__all__ = [
    "Audio", "Code", "DisplayHandle", "DisplayObject", "FileLink", "FileLinks", "GeoJSON", "HTML", "IFrame", "Image", "JSON", "Javascript",
    "Latex", "Markdown", "Math", "Pretty", "ProgressBar", "SVG", "ScribdDocument", "TextDisplayObject", "Video", "VimeoVideo", "YouTubeVideo",
    "clear_output", "display", "display_html", "display_javascript", "display_jpeg", "display_json", "display_latex", "display_markdown",
    "display_pdf", "display_png", "display_pretty", "display_svg", "publish_display_data", "set_matplotlib_close", "set_matplotlib_formats",
    "update_display",
]  # fmt: skip

_show = display  # the builtin  # noqa: F821


# --- showing ---


class DisplayHandle:
    """display(x, display_id=True): `update` shows the next object behind the first."""

    def __init__(self, display_id=None):
        self.display_id = display_id if isinstance(display_id, str) else f"{id(self):x}"

    def display(self, thing, **kwargs):
        display(thing)

    def update(self, thing, **kwargs):
        display(thing)

    def __repr__(self):
        return f"<DisplayHandle display_id={self.display_id}>"


def display(*objs, include=None, exclude=None, metadata=None, transient=None, display_id=None, raw=False, clear=False, **kwargs):
    """Shows objects in all their forms: tables, pictures, HTML, text."""
    _show(*objs, raw=bool(raw))
    return DisplayHandle(display_id) if display_id else None


def update_display(obj, *, display_id=None, **kwargs):
    display(obj)


def publish_display_data(data, metadata=None, **kwargs):
    _show(data, raw=True)


def clear_output(wait=False):
    """Does nothing: what was shown stays, since the result of a cell is sent once."""


def _shows(mime):
    def show(*objs, raw=False, metadata=None):
        for obj in objs:
            if raw:
                _show({mime: obj}, raw=True)
            else:
                _show(obj)

    return show


display_html, display_markdown, display_svg = _shows("text/html"), _shows("text/markdown"), _shows("image/svg+xml")
display_latex, display_json, display_javascript = _shows("text/latex"), _shows("application/json"), _shows("application/javascript")
display_png, display_jpeg, display_pdf, display_pretty = _shows("image/png"), _shows("image/jpeg"), _shows("application/pdf"), _shows("text/plain")


def set_matplotlib_formats(*formats, **kwargs):
    import belljar

    belljar.formats(*[name for name in formats if name in ("png", "svg")])


def set_matplotlib_close(close=True):
    pass


# --- objects ---


def _escaped(text):
    for sign, word in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = str(text).replace(sign, word)
    return text


class DisplayObject:
    _mode = "r"

    def __init__(self, data=None, url=None, filename=None, metadata=None):
        if filename is None and url is None and data is not None and not isinstance(data, (str, bytes, dict, list)) and hasattr(data, "__fspath__"):
            data, filename = None, data.__fspath__()
        self.data, self.url, self.filename, self.metadata = data, url, filename, metadata or {}
        if filename is not None:
            self.reload()

    def reload(self):
        if self.filename is not None:
            with open(self.filename, self._mode) as file:
                self.data = file.read()

    def _data_and_metadata(self):
        return self.data

    def __repr__(self):
        return f"<IPython.core.display.{type(self).__name__} object>"


class TextDisplayObject(DisplayObject):
    pass


class Pretty(TextDisplayObject):
    def __repr__(self):
        return str(self.data)


class HTML(TextDisplayObject):
    def _repr_html_(self):
        return self.data

    def __html__(self):
        return self.data


class Markdown(TextDisplayObject):
    def _repr_markdown_(self):
        return self.data


class Latex(TextDisplayObject):
    def _repr_latex_(self):
        return self.data


class Math(TextDisplayObject):
    def _repr_latex_(self):
        return f"$\\displaystyle {str(self.data).strip('$')}$"


class SVG(DisplayObject):
    def _repr_svg_(self):
        data = self.data.decode("utf-8", "replace") if isinstance(self.data, bytes) else self.data
        at = data.find("<svg") if isinstance(data, str) else -1
        return data[at:] if at > 0 else data


class JSON(DisplayObject):
    def __init__(self, data=None, url=None, filename=None, expanded=False, metadata=None, root="root", **kwargs):
        super().__init__(data, url, filename, metadata)

    def _repr_json_(self):
        if isinstance(self.data, (str, bytes)):
            import json

            return json.loads(self.data)
        return self.data


class GeoJSON(JSON):
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"application/geo+json": self._repr_json_(), "text/plain": repr(self)}


class Javascript(TextDisplayObject):
    def __init__(self, data=None, url=None, filename=None, lib=None, css=None):
        super().__init__(data, url, filename)

    def _repr_javascript_(self):
        return self.data


class Code(TextDisplayObject):
    def __init__(self, data=None, url=None, filename=None, language=None):
        super().__init__(data, url, filename)
        self.language = language

    def _repr_markdown_(self):
        return f"```{self.language or ''}\n{self.data}\n```"

    def __repr__(self):
        return str(self.data)


class Image(DisplayObject):
    _mode = "rb"

    def __init__(self, data=None, url=None, filename=None, format=None, embed=None, width=None, height=None, retina=False, **kwargs):
        if isinstance(data, str):  # a path or an address
            data, url, filename = None, data if "://" in data else url, filename if "://" in data else data
        self.width, self.height, self.alt = width, height, kwargs.get("alt")
        super().__init__(data, url, filename, kwargs.get("metadata"))
        if isinstance(self.data, (bytearray, memoryview)):
            self.data = bytes(self.data)
        self.format = (format or "").lower() or None

    def _bytes(self, *heads):
        data = self.data if isinstance(self.data, bytes) else b""
        return data if data.startswith(heads) else None

    def _repr_png_(self):
        return self._bytes(b"\x89PNG\r\n")

    def _repr_jpeg_(self):
        return self._bytes(b"\xff\xd8\xff")

    def _repr_mimebundle_(self, include=None, exclude=None):
        forms = {"text/plain": repr(self)}
        for mime, heads in (("image/png", (b"\x89PNG\r\n",)), ("image/jpeg", (b"\xff\xd8\xff",)), ("image/gif", (b"GIF8",)), ("image/webp", (b"RIFF",))):
            if self._bytes(*heads):
                forms[mime] = self.data
        if self.url:
            forms["text/html"] = self._repr_html_()
        return forms

    def _repr_html_(self):
        if not self.url:
            return None
        sides = "".join(f' {name}="{_escaped(side)}"' for name, side in (("width", self.width), ("height", self.height)) if side)
        return f'<img src="{_escaped(self.url)}"{sides}/>'


class Audio(DisplayObject):
    """Sound: bytes of a file, or samples at a rate, which become a WAV file."""

    _mode = "rb"
    _tag = "audio"

    def __init__(self, data=None, filename=None, url=None, embed=None, rate=None, autoplay=False, normalize=True, **kwargs):
        if isinstance(data, str):
            data, url, filename = None, data if "://" in data else url, filename if "://" in data else data
        super().__init__(None if data is not None and not isinstance(data, (bytes, bytearray)) else data, url, filename)
        if data is not None and self.data is None:
            self.data = self._wave(data, rate, normalize)

    @staticmethod
    def _wave(samples, rate, normalize):
        if not rate:
            raise ValueError("rate must be specified when data is a numpy array or list of audio samples.")
        samples = samples.tolist() if hasattr(samples, "tolist") else list(samples)
        channels = samples if samples and isinstance(samples[0], (list, tuple)) else [samples]
        most = max((abs(x) for channel in channels for x in channel), default=0) if normalize else 1
        frames = [round(max(-1, min(1, x / (most or 1))) * 32767) for frame in zip(*channels) for x in frame]
        body, n, rate = b"".join(x.to_bytes(2, "little", signed=True) for x in frames), len(channels), int(rate)
        numbers = ((16, 4), (1, 2), (n, 2), (rate, 4), (rate * n * 2, 4), (n * 2, 2), (16, 2))
        head = b"WAVEfmt " + b"".join(x.to_bytes(size, "little") for x, size in numbers) + b"data" + len(body).to_bytes(4, "little")
        return b"RIFF" + (len(head) + len(body)).to_bytes(4, "little") + head + body

    def _repr_html_(self):
        if self.url or not isinstance(self.data, bytes):
            return f'<{self._tag} controls src="{_escaped(self.url)}"></{self._tag}>'
        import base64

        kind = "audio/wav" if self._tag == "audio" else "video/mp4"
        return f'<{self._tag} controls src="data:{kind};base64,{base64.b64encode(self.data).decode()}"></{self._tag}>'


class Video(Audio):
    _tag = "video"

    def __init__(self, data=None, url=None, filename=None, embed=False, mimetype=None, width=None, height=None, **kwargs):
        super().__init__(data, filename, url)


class IFrame:
    def __init__(self, src, width="100%", height=400, **kwargs):
        self.src, self.width, self.height = src, width, height

    def _repr_html_(self):
        return f'<iframe width="{_escaped(self.width)}" height="{_escaped(self.height)}" src="{_escaped(self.src)}"></iframe>'

    def __repr__(self):
        return f"<IPython.lib.display.{type(self).__name__} object>"


class YouTubeVideo(IFrame):
    def __init__(self, id, width=400, height=300, **kwargs):
        super().__init__(f"https://www.youtube.com/embed/{id}", width, height)


class VimeoVideo(IFrame):
    def __init__(self, id, width=400, height=300, **kwargs):
        super().__init__(f"https://player.vimeo.com/video/{id}", width, height)


class ScribdDocument(IFrame):
    def __init__(self, id, width=400, height=300, **kwargs):
        super().__init__(f"https://www.scribd.com/embeds/{id}/content", width, height)


class FileLink:
    def __init__(self, path, *args, **kwargs):
        self.path = path

    def _repr_html_(self):
        return f"<a href='{_escaped(self.path)}' target='_blank'>{_escaped(self.path)}</a><br>"

    def __repr__(self):
        return str(self.path)


class FileLinks(FileLink):
    pass


class ProgressBar:
    """for x in ProgressBar(10): how far it is, is reported."""

    def __init__(self, total):
        self.total, self._progress = total, 0

    def __iter__(self):
        self._progress = -1
        return self

    def __next__(self):
        self.progress += 1
        if self._progress < self.total:
            return self._progress
        raise StopIteration

    @property
    def progress(self):
        return self._progress

    @progress.setter
    def progress(self, done):
        import belljar

        self._progress = done
        belljar.progress(max(0, done), self.total)

    def display(self):
        display(self)

    def __repr__(self):
        return f"[{self._progress}/{self.total}]"
