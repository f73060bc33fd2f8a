"""What producers and workers agree on: the queue of agents and files that have work."""

from recallite.work.queue import SCAN, Lane, Lease, Mark, WorkQueue

__all__ = ["SCAN", "Lane", "Lease", "Mark", "WorkQueue"]
