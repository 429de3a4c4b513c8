"""Relations: which symbol each site refers to, asked of language servers and repaired per symbol.

`source_file` one file of a tree as relations see it; `change` what a new version of a file keeps of the
old one's relations, by what it binds (`bindings`) and imports (`imports`), as a `file_change`; `plan` what
else a transition can have changed, with the rules for names (`naming`) and for what is hidden (`hiding`);
`resolve` from a server's locations to targets; `repair` puts them together.
`verifying` asks everything again, in the order that `reach` gives; `audit` asks a fresh server; `rebuild`
compares with what fresh servers make aside.
"""
