"""The command `syntabula`: arguments in, public API called, results out; no logic of its own."""
