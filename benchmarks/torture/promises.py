"""All promises, in the order in which they are tried."""

from benchmarks.torture.bad_calls import BAD_CALLS
from benchmarks.torture.bad_files import FORGERIES, MUTATIONS
from benchmarks.torture.crash_checkpoints import CHECKPOINTS
from benchmarks.torture.crash_faults import DISKS, SIGNALS
from benchmarks.torture.crash_kills import KILLS
from benchmarks.torture.long_run import LONG_RUN
from benchmarks.torture.numbers_edges import EDGES, SIZES, THREADS
from benchmarks.torture.numbers_nan import NANS
from benchmarks.torture.properties import PROPERTIES
from benchmarks.torture.released import RELEASED
from benchmarks.torture.service import SERVICE

PROMISES = (
    *(KILLS, SIGNALS, DISKS, CHECKPOINTS),
    *(NANS, EDGES, SIZES, THREADS),
    *(MUTATIONS, FORGERIES, RELEASED, BAD_CALLS),
    *SERVICE,
    *(PROPERTIES, LONG_RUN),
)
