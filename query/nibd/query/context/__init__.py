"""Context packets: what of a repository, and of a history, goes into an agent's prompt.

Pure functions of their arguments: `packet.eager` makes a packet of ranked hits within a budget of tokens,
`compaction.compact` rewrites a message history once. `tokens` counts.
"""
