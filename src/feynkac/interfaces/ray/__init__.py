"""Beyond one process: training, tuning and many runs on Ray; nothing outside imports this."""
