"""Stand-ins for what lies outside this project: an embedder, a provider's server, workspaces.

For tests and benchmarks only. They are part of the package so that those who build on it can use them.
"""
