"""What runs tell and the watcher hears."""

from feynkac.errors import InputError
from feynkac.interfaces.ray.news import Channel
from feynkac.training.loop import Progress

STEP = Progress(step=1, steps=2, loss=0.5, seconds=0.1, record=None)


def test_progress_is_heard_once():
    channel = Channel()
    channel.tell(3, STEP)
    assert channel.hear(stop=False).progress == [(3, STEP)]
    assert channel.hear(stop=False).progress == []


def test_the_wish_to_stop_reaches_every_run_and_stays():
    channel = Channel()
    assert not channel.begin(0)
    assert not channel.tell(0, STEP)
    channel.hear(stop=True)
    channel.hear(stop=False)
    assert channel.tell(0, STEP)
    assert channel.begin(1)


def test_a_run_that_begins_again_has_been_restarted():
    channel = Channel()
    channel.begin(0)
    channel.begin(1)
    assert channel.hear(stop=False).restarts == 0
    channel.begin(1)
    assert channel.hear(stop=False).restarts == 1
    assert channel.hear(stop=False).restarts == 0


def test_the_first_error_of_a_run_stays():
    channel = Channel()
    first, second = InputError("first"), InputError("second")
    channel.fail(0, first)
    channel.fail(0, second)
    channel.hear(stop=False)
    assert channel.hear(stop=False).errors == {0: first}
