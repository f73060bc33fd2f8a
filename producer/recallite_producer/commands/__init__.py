"""The producer's commands; they join `recallite` through its entry points."""
