"""What producers and workers agree on: the queue of agents and files that have work."""

from recallite.work.queue import LANES, SCAN, Backlog, Lane, Lease, Mark, Pause, WorkQueue

__all__ = ["LANES", "SCAN", "Backlog", "Lane", "Lease", "Mark", "Pause", "WorkQueue"]
