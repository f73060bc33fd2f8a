"""Reading an index: what it is, which part of it answers, and its two ways of finding."""
