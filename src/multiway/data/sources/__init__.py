"""From bytes to columns, arrays and scans: what every kind of data is read with."""
