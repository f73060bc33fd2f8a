"""What producers and workers agree on: the queue of agents and files that have work."""

from recallite.work.queue import ERRANDS, LANES, SCAN, Backlog, Debt, Errand, Lane, Lease, Mark, Pause, WorkQueue

__all__ = ["ERRANDS", "LANES", "SCAN", "Backlog", "Debt", "Errand", "Lane", "Lease", "Mark", "Pause", "WorkQueue"]
