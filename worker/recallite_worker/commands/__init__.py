"""The worker's commands; they join `recallite` through its entry points."""
