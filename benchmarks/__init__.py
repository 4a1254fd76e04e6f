"""Speed and memory against peers; correctness is checked before anything is timed."""
