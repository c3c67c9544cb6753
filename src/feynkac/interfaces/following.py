"""A training in the browser: `solve --watch` serves the run's folder while it is under way."""

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from feynkac.files import make_folder
from feynkac.interfaces.jobs import Job

SERVE = (sys.executable, "-c", "from feynkac.interfaces.cli import main; main()", "serve")


@contextmanager
def following(job: Job, announce: Callable[[str], None]) -> Iterator[Callable[[], None]]:
    """Serve the folder of `job` from a process of its own; what is yielded waits for Ctrl-C.

    The training does not wait for the service, and does not fail if there is none: `announce` is
    told the address, or why there is none.
    """
    make_folder(job.folder)
    own = [] if job.run.family.built_in else ["--family", job.spec]
    process = subprocess.Popen(
        [*SERVE, str(job.folder), "--port", "0", *own], stderr=subprocess.PIPE, text=True
    )
    reader = threading.Thread(target=_listen, args=(process, announce))
    reader.start()
    try:
        yield lambda: _wait(process)
    finally:
        process.terminate()
        process.wait()
        reader.join()
        if process.stderr:
            process.stderr.close()


def _listen(process: "subprocess.Popen[str]", announce: Callable[[str], None]) -> None:
    """Announce it, and read on, so that it can always write."""
    announce(_first_words(process))
    for _ in process.stderr or ():
        pass


def _first_words(process: "subprocess.Popen[str]") -> str:
    """Where the service is, once it is ready."""
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        words = [word for word in line.split() if word.startswith("http://")]
        if words:
            return f"follow the training at {words[0]}#v=training (Ctrl-C ends it)"
        said += line
    reason = said.strip().removeprefix("error: ") or "it ended first"
    return f"cannot follow the training: {reason}"


def _wait(process: "subprocess.Popen[str]") -> None:
    """Until Ctrl-C or SIGTERM, which would otherwise end this process alone."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with suppress(KeyboardInterrupt):
            process.wait()
    finally:
        signal.signal(signal.SIGTERM, before)
