"""Several processes on Ray: training, tuning and many runs; no other package imports this one."""
