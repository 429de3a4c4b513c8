"""Answering `navigate`: definitions, references, callers and the like, by what is stored or a live server.

`navigating` is the method: who answers, from which snapshot, and what the answer carries. `question` has what
is asked and what was found; `inquiry` is a question to one snapshot, and what its place or name means there.
It is answered by `static` from stored relations, or by `live` with the help of a language server, which
`live_answers` asks; `weighing` says which of the two answers is the better. `reasons` says why there are no
hits, `unserved` why no snapshot could answer, and `shown_places` gives the hits their shape. `texts` opens
the files of a tree.
"""
