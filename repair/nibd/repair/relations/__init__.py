"""Relations: which symbol each site refers to, asked of language servers and repaired per symbol.

`source_file` one file of a tree as relations see it; `change` what a new version of a file keeps of the
old one's relations; `plan` what else a transition can have changed; `resolve` from a server's locations
to targets; `repair` puts them together. `verifying` asks everything again, in the order that `reach` gives;
`audit` asks a fresh server; `rebuild` compares with what fresh servers make aside.
"""
