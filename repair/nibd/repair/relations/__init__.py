"""Relations: which symbol each site refers to, asked of language servers and repaired per symbol.

`source_file` one file of a tree as relations see it; `change` what a new version of a file keeps of the
old one's relations, by what it binds (`bindings`) and imports (`imports`), as a `file_change`; `plan` what
else a transition can have changed in the `old_tree`, with rules for names (`naming`, by what can be seen of
them: `shadows`, `exports`), for what is hidden (`hiding`), stands `between`, or is imported (`barrels`);
`resolve` from a server's locations to targets; `repair` puts them together.
`verifying` asks everything again, in the order that `reach` gives; `audit` asks a fresh server; `rebuild`
compares with what fresh servers make aside.
"""
