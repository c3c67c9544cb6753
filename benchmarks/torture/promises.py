"""All promises, in the order in which they are tried."""

from benchmarks.torture.bad_calls import BAD_CALLS
from benchmarks.torture.crash_checkpoints import CHECKPOINTS
from benchmarks.torture.crash_faults import DISKS, SIGNALS
from benchmarks.torture.crash_kills import KILLS

PROMISES = (KILLS, SIGNALS, DISKS, CHECKPOINTS, BAD_CALLS)
