"""Tables in parts that are never collected whole: files, row groups, and streams of batches."""
