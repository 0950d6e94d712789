"""The folder of a run: settings, inputs, events, weights, and all that resuming it needs."""
