"""Who is served next, and who never has to wait."""

from __future__ import annotations

from nibd.daemon.scheduler import Job, Kind, Lane, Scheduler
from nibd.stores.types import CheckoutId, CommitId, RepositoryId, View


def job(
    repository: str,
    commit: str = "1",
    kind: Kind = Kind.REPAIR,
    lane: Lane = Lane.REPAIR,
    discard: frozenset[View] = frozenset(),
) -> Job:
    checkout = CheckoutId(f"{repository}-main")
    return Job(RepositoryId(repository), kind, lane, checkout, CommitId(commit), discard)


def drain(scheduler: Scheduler, lane: Lane = Lane.REPAIR) -> list[str]:
    order = []
    while taken := scheduler.take(lane):
        order.append(f"{taken.repository}:{taken.kind}:{taken.commit}")
        scheduler.finished(taken)
    return order


def test_a_hundred_commits_are_one_job_for_the_last() -> None:
    scheduler = Scheduler()
    for number in range(100):
        scheduler.want(job("a", str(number)))
    assert drain(scheduler) == ["a:repair:99"]


def test_repositories_take_turns_however_often_one_asks() -> None:
    scheduler = Scheduler()
    scheduler.want(job("busy", "1"))
    scheduler.want(job("quiet", "1"))
    served = []
    for number in range(2, 6):
        taken = scheduler.take(Lane.REPAIR)
        assert taken is not None
        served.append(taken.repository)
        scheduler.want(job("busy", str(number)))
        scheduler.finished(taken)
    assert served == ["busy", "quiet", "busy", "busy"]


def test_a_repair_comes_before_what_can_wait_in_its_repository() -> None:
    scheduler = Scheduler()
    for kind in (Kind.COLLECT, Kind.FOLD, Kind.DENSE, Kind.REPAIR):
        scheduler.want(job("a", kind=kind))
    assert drain(scheduler) == ["a:repair:1", "a:dense:1", "a:fold:1", "a:collect:1"]


def test_a_first_build_leaves_the_repair_lane_free() -> None:
    scheduler = Scheduler()
    scheduler.want(job("huge", lane=Lane.BUILD))
    building = scheduler.take(Lane.BUILD)
    scheduler.want(job("small"))
    repairing = scheduler.take(Lane.REPAIR)
    assert building is not None
    assert repairing is not None
    assert (building.repository, repairing.repository) == ("huge", "small")


def test_a_repository_is_written_by_one_lane_at_a_time() -> None:
    scheduler = Scheduler()
    scheduler.want(job("a", lane=Lane.BUILD))
    building = scheduler.take(Lane.BUILD)
    assert building is not None
    scheduler.want(job("a", "2"))
    assert scheduler.take(Lane.REPAIR) is None
    scheduler.finished(building)
    assert scheduler.take(Lane.REPAIR) is not None


def test_a_newer_commit_names_the_running_job_it_supersedes() -> None:
    scheduler = Scheduler()
    scheduler.want(job("a", "1"))
    running = scheduler.take(Lane.REPAIR)
    assert scheduler.want(job("a", "2")) == running
    assert scheduler.want(job("b", "1")) is None


def test_a_view_to_be_built_anew_is_not_forgotten_for_a_newer_commit() -> None:
    scheduler = Scheduler()
    scheduler.want(job("a", "1", discard=frozenset({View.LEXICAL})))
    scheduler.want(job("a", "2"))
    taken = scheduler.take(Lane.REPAIR)
    assert taken is not None
    assert (taken.commit, taken.discard) == ("2", frozenset({View.LEXICAL}))


def test_a_held_repository_waits_and_the_others_do_not() -> None:
    scheduler = Scheduler()
    scheduler.want(job("failing"))
    scheduler.want(job("fine"))
    scheduler.hold(RepositoryId("failing"))
    assert drain(scheduler) == ["fine:repair:1"]
    scheduler.release(RepositoryId("failing"))
    assert drain(scheduler) == ["failing:repair:1"]


def test_a_removed_checkout_takes_its_wishes_with_it() -> None:
    scheduler = Scheduler()
    scheduler.want(job("a"))
    scheduler.want(Job(RepositoryId("a"), Kind.COLLECT, Lane.REPAIR))
    scheduler.forget(RepositoryId("a"), CheckoutId("a-main"))
    assert [wish.kind for wish in scheduler.waiting()] == [Kind.COLLECT]
    scheduler.forget(RepositoryId("a"))
    assert scheduler.waiting() == []
