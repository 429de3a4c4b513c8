"""Keeping the relations of what each checkout shows: the daemon's side, and the navigator's beneath it.

In the daemon, on its event loop: `upkeep` decides when a navigator works, and takes what came of it; `steps`
says what is to be done for a snapshot, `idle` what when there is nothing else to do, `pauses` when to try
again what failed; `installed` is what a checkout was found to have, `unpublished` what the indexer has not
published yet; `navigators` are the processes.

Between the two: `navigator_job`, what a navigator is sent and answers; `live_wire`, a question to it; and
`server_places`, where language servers are looked for.

In the navigator (`nibd.daemon.navigator`): `opened`, the stores, tree and servers of its repository; `desk`,
who does what; `agreeing`, how far stored answers equal live ones. In the verifier: `verdict`.
"""
