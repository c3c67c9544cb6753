"""Signals are collected between steps and real: each is sent to this very process."""

import os
import signal
import threading

import pytest

from feynkac.training.interrupts import SIGNALS, deferred_interrupts


def handlers():
    return [signal.getsignal(s) for s in SIGNALS]


def send(number):
    os.kill(os.getpid(), number)


def test_without_a_signal_nothing_is_requested():
    with deferred_interrupts() as stop:
        assert not stop.requested
    assert not stop.requested


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_signal_only_asks(number):
    before = handlers()
    with deferred_interrupts() as stop:
        send(number)
        assert stop.requested
    assert handlers() == before


def test_a_second_ctrl_c_interrupts_at_once():
    before = handlers()
    with deferred_interrupts():
        send(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            send(signal.SIGINT)
    assert handlers() == before


def test_a_second_sigterm_still_only_asks():
    with deferred_interrupts() as stop:
        send(signal.SIGTERM)
        send(signal.SIGTERM)
    assert stop.requested


def test_an_error_in_the_body_restores_the_handlers():
    before = handlers()
    with pytest.raises(ZeroDivisionError, match="by zero"), deferred_interrupts():
        1 / 0  # noqa: B018
    assert handlers() == before


def test_the_caller_s_own_handlers_come_back():
    seen = []
    before = signal.signal(signal.SIGTERM, lambda number, _frame: seen.append(number))
    try:
        with deferred_interrupts():
            send(signal.SIGTERM)
        assert seen == []
        send(signal.SIGTERM)
        assert seen == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_outside_the_main_thread_handlers_stay_as_they_are():
    before, inside = handlers(), []

    def body():
        with deferred_interrupts() as stop:
            inside.append((handlers(), stop.requested))

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert inside == [(before, False)]
