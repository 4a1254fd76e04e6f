"""A report as its reader's browser takes it apart, and a name that tries to get out of its place."""

from html.parser import HTMLParser

VOID = {"meta", "input", "img", "br"}
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\x00\x1b[31m\u202e\ud800"


class Page(HTMLParser):
    """Elements, their attributes and their text; every element that opens must close."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

    def all(self, tag, **wanted):
        return [a for t, a in self.elements if t == tag and all(a.get(k.strip("_")) == v for k, v in wanted.items())]

    def sections(self):
        return [attrs["id"] for attrs in self.all("section")]
