"""Speed and memory beside peers; correctness is checked before anything is timed."""
