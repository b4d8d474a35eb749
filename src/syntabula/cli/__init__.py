"""The command `syntabula`: it parses arguments, calls the public API and prints results, with no logic of its own."""
