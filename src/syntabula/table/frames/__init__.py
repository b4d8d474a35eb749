"""Reading and writing of data frames."""
