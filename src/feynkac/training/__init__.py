"""How a network is fitted: settings, optimisers, schedules, the loop, checkpoints."""
