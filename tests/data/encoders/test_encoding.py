"""Each text once, kept between runs, and gone on with after a kill."""

import io

import numpy as np
import pytest

from interruption import left_over
from multiway import files
from multiway.data.encoders import HashedEncoder, encode_texts, encoding
from multiway.data.encoders.encoding import VectorCache, encode_with
from multiway.data.options import EncoderOptions
from multiway.errors import ConfigError, DataError, RunError

WORDS = ["apple", "ford", "rises", "falls", "$", "up"]


class Counting:
    """The hashed encoder under another name, which records its texts and may stop half way."""

    def __init__(self, *, calls: float = float("inf"), digest: str = "0123456789abcdef01") -> None:
        self.name, self.digest, self.dim = "own/../counting", digest, 16
        self.requests: list[list[str]] = []
        self.calls = calls

    def encode(self, texts):
        if len(self.requests) >= self.calls:
            raise KeyboardInterrupt
        self.requests.append(list(texts))
        return HashedEncoder(self.dim).encode(texts)


def some_texts(count: int) -> list[str]:
    generator = np.random.default_rng(5)
    return [" ".join(generator.choice(WORDS, generator.integers(0, 6))) for _ in range(count)]


def cache_at(tmp_path, encoder) -> VectorCache:
    return VectorCache(tmp_path / "cache", encoder.name, encoder.digest)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(encoding, "CHUNK", 10)


@pytest.mark.parametrize("is_cached", [True, False])
def test_distinct_texts_once_longest_first(tmp_path, is_cached):
    texts, encoder = some_texts(100), Counting()
    found = encode_with(encoder, cache_at(tmp_path, encoder) if is_cached else None, texts)
    np.testing.assert_array_equal(found.vectors[found.rows], HashedEncoder(16).encode(texts))
    requests = [text for chunk in encoder.requests for text in chunk]
    assert (
        sorted(requests) == sorted(set(texts)) and [len(text) for text in requests] == sorted(map(len, requests))[::-1]
    )
    assert found.num_new == len(found.vectors) == len(set(texts)) < 100
    assert found.rows.dtype == np.int64 and found.vectors.dtype == np.float32
    first_seen = list(dict.fromkeys(texts))
    assert [first_seen[row] for row in found.rows] == texts
    assert list(tmp_path.iterdir()) == ([tmp_path / "cache"] if is_cached else [])


def test_a_second_time_there_is_nothing_to_do(tmp_path):
    texts, encoder = some_texts(100), Counting()
    cache = cache_at(tmp_path, encoder)
    first = encode_with(encoder, cache, texts)
    assert cache.folder.parent == tmp_path / "cache" and cache.folder.name == "own-..-counting-0123456789abcdef"
    repeated, other = Counting(), [*texts[::-1], "new"]
    second = encode_with(repeated, cache, other)
    assert repeated.requests == [["new"]] and second.num_new == 1
    np.testing.assert_array_equal(second.vectors[second.rows][:-1], first.vectors[first.rows][::-1])


def test_after_a_kill_it_goes_on(tmp_path):
    texts, killed, next_one = some_texts(100), Counting(calls=2), Counting()
    cache = cache_at(tmp_path, killed)
    with pytest.raises(KeyboardInterrupt):
        encode_with(killed, cache, texts)
    found = encode_with(next_one, cache, texts)
    done = {text for chunk in killed.requests for text in chunk}
    assert len(done) == 20 and done.isdisjoint(text for chunk in next_one.requests for text in chunk)
    assert found.num_new == len(set(texts)) - 20
    np.testing.assert_array_equal(found.vectors[found.rows], HashedEncoder(16).encode(texts))


@pytest.mark.parametrize("content", [b"", b"\x08\x00\x00\x00\x00\x00\x00\x00{}", None, "other"])
def test_an_unsound_chunk_is_made_anew(tmp_path, content):
    texts, encoder = some_texts(60), Counting()
    cache = cache_at(tmp_path, encoder)
    encode_with(encoder, cache, texts)
    chunk = sorted(cache.folder.iterdir())[0]
    if content == "other":
        VectorCache(tmp_path, "other", "x" * 16).write([b"k" * 16], np.zeros((1, 7), np.float32))
        content = next((tmp_path / "other-xxxxxxxxxxxxxxxx").iterdir()).read_bytes()
    chunk.write_bytes(chunk.read_bytes()[:-1] if content is None else content)
    repeated = Counting()
    found = encode_with(repeated, cache, texts)
    assert len(repeated.requests) == 1 and found.num_new == len(repeated.requests[0])
    np.testing.assert_array_equal(found.vectors[found.rows], HashedEncoder(16).encode(texts))
    assert encode_with(Counting(), cache, texts).num_new == 0


def test_another_digest_is_another_folder(tmp_path):
    first, second = Counting(), Counting(digest="f" * 64)
    encode_with(first, cache_at(tmp_path, first), ["up"])
    encode_with(second, cache_at(tmp_path, second), ["up"])
    assert second.requests == [["up"]] and len(list((tmp_path / "cache").iterdir())) == 2


def test_unfinished_files_go_with_their_process(tmp_path):
    encoder = Counting()
    cache = cache_at(tmp_path, encoder)
    cache.folder.mkdir(parents=True)
    chunk = cache.folder / "chunk.safetensors"
    old, running = left_over(chunk), chunk.with_name(files.temporary_name(chunk.name))
    old.touch()
    running.touch()
    encode_with(encoder, cache, ["up"])
    assert running.exists() and not old.exists()


def test_a_cache_that_cannot_be_made(tmp_path):
    (tmp_path / "cache").write_text("a file")
    encoder = Counting()
    with pytest.raises(RunError, match=r"could not be written: .*set text.cache to another folder"):
        encode_with(encoder, cache_at(tmp_path, encoder), ["up"])


@pytest.mark.parametrize(
    ("texts", "error", "text"),
    [
        (["up", None], DataError, r"texts\[1\] must be text. Got NoneType."),
        (["up", "bad \ud83d one"], DataError, r"texts\[1\] holds half of a character .*: bad \\ud83d one. Remove it."),
    ],
)
def test_what_is_no_text_is_refused(texts, error, text):
    with pytest.raises(error, match=text):
        encode_texts(texts, EncoderOptions(encoder="hashed"))


def test_too_little_memory(monkeypatch):
    monkeypatch.setattr(encoding, "free_memory", lambda: 4095)
    with pytest.raises(DataError, match=r"vectors of 2 texts would take 4.1e-06 GB and 4.1e-06 GB are free"):
        encode_texts(["up", "down"], EncoderOptions(encoder="hashed"))


def test_hashed_vectors_are_not_kept(tmp_path):
    found = encode_texts(["up", "up"], EncoderOptions(encoder="hashed", cache=str(tmp_path / "cache")))
    assert found.folder is None and found.vectors.shape == (1, 512) and found.rows.tolist() == [0, 0]
    assert encode_texts([], EncoderOptions(encoder="hashed")).vectors.shape == (0, 512)
    assert not (tmp_path / "cache").exists()


def test_progress_is_lines_where_there_is_no_terminal(capsys):
    encode_with(Counting(), None, some_texts(30), progress=True)
    assert capsys.readouterr().err.endswith("(0 s)\n")
    encode_with(Counting(), None, some_texts(30), progress=False)
    encode_with(Counting(), None, [], progress=True)
    assert capsys.readouterr() == ("", "")


def test_progress_is_a_bar_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stderr", Terminal())
    encode_with(Counting(), None, some_texts(30), progress=True)
    import sys

    assert "encoding" in sys.stderr.getvalue()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"max_tokens": 128, "batch_tokens": 64}, "batch_tokens must hold one text of max_tokens. Got 64 and 128"),
        ({"encoder": " "}, "encoder must be a name or a folder"),
        ({"dtype": "fp8"}, "dtype: Input should be 'auto', 'float32' or 'bf16'"),
        ({"hashed_dim": 4}, "hashed_dim: Input should be greater than or equal to 8"),
        ({"token": 3}, "token is not a known field"),
    ],
)
def test_options(given, text):
    with pytest.raises(ConfigError, match=text):
        EncoderOptions.parse(given, "text")
