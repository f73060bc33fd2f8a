"""The life of an agent's memory around a session: what it begins with, what is written down, what is saved in time."""
