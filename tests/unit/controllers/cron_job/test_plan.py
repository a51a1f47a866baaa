"""Whether a CronJob starts a Job; it is 12:00."""

from typing import Any

import pytest

from controllers.cron_job.plan import Plan, job_for, plan
from kubeloop.apimachinery.meta import Object
from tests.unit.controllers.cron_jobs import a_cron_job
from tests.unit.controllers.workloads import NOW

MINUTE = int(NOW.timestamp()) // 60


def planned(cron_job: Object) -> Plan:
    return plan(cron_job, cron_job["status"], NOW)


@pytest.mark.parametrize(
    ("fields", "starts", "replaced", "reasons"),
    [
        ({"last": 60}, True, 0, []),
        ({"last": 0}, False, 0, []),
        ({"last": 60, "suspend": True}, False, 0, []),
        ({"last": 60, "deleted": True}, False, 0, []),
        ({"last": 60, "active": ["a"]}, True, 0, []),
        ({"last": 60, "active": [f"cron-{MINUTE}"]}, False, 0, []),
        ({"last": 60, "active": ["a"], "concurrencyPolicy": "Forbid"}, False, 0, ["JobAlreadyActive"]),
        ({"last": 60, "concurrencyPolicy": "Forbid"}, True, 0, []),
        ({"last": 60, "active": ["a", "b"], "concurrencyPolicy": "Replace"}, True, 2, []),
        ({"last": 60 * 200}, True, 0, ["TooManyMissedTimes"]),
        ({"last": 7200, "schedule": "59 * * * *", "startingDeadlineSeconds": 59}, False, 0, []),
        ({"last": 60, "startingDeadlineSeconds": 2**63 - 1}, True, 0, []),
        ({"last": 60, "timeZone": "Moon/Crater"}, False, 0, ["UnknownTimeZone"]),
        ({"last": 60, "schedule": "every day"}, False, 0, ["UnparseableSchedule"]),
        ({"last": 60, "schedule": "0 0 31 2 *"}, False, 0, ["InvalidSchedule"]),
        ({"last": 60, "schedule": "TZ=UTC * * * * *"}, True, 0, ["UnsupportedSchedule"]),
    ],
)
def test_what_starts_a_job(fields: dict[str, Any], starts: bool, replaced: int, reasons: list[str]) -> None:
    """A time that has come, unless something is in the way; why not is told."""
    decided = planned(a_cron_job(**fields))

    assert (NOW if starts else None, replaced, reasons) == (
        decided.start,
        len(decided.replace),
        [event.reason for event in decided.events],
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"timeZone": "Moon/Crater"},
            'invalid timeZone: "Moon/Crater": unknown time zone Moon/Crater',
        ),
        (
            {"schedule": "every day"},
            'unparseable schedule: "every day" : expected exactly 5 fields, found 2: [every day]',
        ),
        (
            {"schedule": "0 0 31 2 *"},
            "invalid schedule: 0 0 31 2 * : time difference between two schedules is less than 1 second",
        ),
    ],
)
def test_what_is_wrong_is_said(fields: dict[str, Any], message: str) -> None:
    """In upstream's words, and nothing is looked at again before the CronJob changes."""
    decided = planned(a_cron_job(**fields))

    assert ([message], None) == ([event.message for event in decided.events], decided.timing)


def test_the_job_says_when_it_was_due() -> None:
    """Its name has the minute, an annotation the time by the CronJob's clock; the rest is the template."""
    cron_job = a_cron_job(timeZone="Europe/Berlin")
    cron_job["spec"]["jobTemplate"]["metadata"]["annotations"] = {"example.com/a": "b"}

    metadata = job_for(cron_job, NOW)["metadata"]

    due = {"batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-01-01T13:00:00+01:00"}
    assert (f"cron-{MINUTE}", {"team": "x"}) == (metadata["name"], metadata["labels"])
    assert {"example.com/a": "b", **due} == metadata["annotations"]
    assert ("CronJob", "cron", True) == tuple(metadata["ownerReferences"][0][k] for k in ("kind", "uid", "controller"))
