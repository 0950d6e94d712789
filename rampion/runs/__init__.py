"""The folder that a run leaves: settings, inputs, events, weights, and what is needed to resume it."""
