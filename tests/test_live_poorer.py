"""`auto` where the server that runs knows less than what is stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gated_server import Gate
from live_world import WAIT_S, LiveHome
from waiting import wait_until

FILES = {
    "app.py": "def greet():\n    pass\n\n\ndef use():\n    greet()\n    greet()\n",
    "other.py": "def other():\n    pass\n",
    "slow.py": "def slow():\n    pass\n",
}


def test_auto_passes_over_a_live_answer_that_leaves_more_open_than_the_stored_one(tmp_path: Path) -> None:
    """The server answered all that is stored; since then it refuses, and a verification waits for it."""
    gate = Gate(tmp_path)
    gate.open(10_000)
    with LiveHome(tmp_path, "python", gate.folder) as home:
        repo = home.repository(FILES)
        home.related(repo)
        gate.refuse()
        repo.write("other.py", FILES["other.py"] + "\n\nother()\n")
        repo.commit()

        def auto() -> Any:
            wait_until(lambda: home.relations(repo).get("commit") == repo.head(), WAIT_S, "relations")
            answer = home.ask(repo, "callees", name="use")
            (static, *live) = answer["trace"]
            is_answered = any(step["outcome"].startswith("answered") for step in live)
            return answer if is_answered and static["commit"] == repo.head() else None

        answer = wait_until(auto, WAIT_S, "a live answer beside the stored one")
        (static, live) = answer["trace"]
        assert (static["provider"], static["outcome"]) == ("static", "answered")
        assert (live["provider"], live["outcome"]) == ("live", "answered, but for 2 sites")
        assert (answer["provider"], answer["unknown"]) == ("static", 0)
        asked = home.ask(repo, "callees", name="use", provider="live")
        assert (asked["provider"], asked["unknown"]) == ("live", 2)
