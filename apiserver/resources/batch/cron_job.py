"""CronJobs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.resources.apps.workload import HOSTNAME_WARNING, has_new_generation
from apiserver.resources.batch.job_spec import check_job_spec, default_job_spec, job_spec_warnings
from apiserver.resources.checks import NO_FIELDS, Errors, check_choice, check_not_negative, go_selector
from apiserver.resources.filling import fill, fill_empty
from apiserver.resources.kinds import SpecKind
from apiserver.resources.pods.pod_template import drop_disabled_fields
from kubeloop.apimachinery import field, validation
from kubeloop.apimachinery.cron import ScheduleError, parse_schedule
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.time_zones import time_zone_error

Json = Mapping[str, Any]

MAX_NAME = 52  # a Job's name adds 11 characters
CONCURRENCY = ("Allow", "Forbid", "Replace")
DEFAULTS = {"suspend": False, "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1}
JOB_SPEC = "spec.jobTemplate.spec"

_is_zone_part = re.compile(r"[A-Za-z.\-_0-9+]{1,14}").fullmatch


class CronJobStrategy(SpecKind):
    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        fill_empty(spec, {"concurrencyPolicy": "Allow"})
        fill(spec, DEFAULTS)
        template = spec.setdefault("jobTemplate", {})
        template.setdefault("metadata", {})
        default_job_spec(template.setdefault("spec", {}))

    def prepare_for_create(self, obj: Object) -> None:
        super().prepare_for_create(obj)
        drop_disabled_fields(obj["spec"]["jobTemplate"]["spec"]["template"]["spec"])

    def prepare_for_update(self, new: Object, old: Object) -> None:
        drop_disabled_fields(new["spec"]["jobTemplate"]["spec"]["template"]["spec"])
        super().prepare_for_update(new, old)

    def check(self, obj: Object, errors: Errors) -> None:
        _check_spec(obj["spec"], errors)
        name = obj["metadata"].get("name", "")
        if len(name) > MAX_NAME:
            errors.append(field.invalid("metadata.name", name, "must be no more than 52 characters"))

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        _check_spec(new["spec"], errors)

    def warnings(self, obj: Object) -> Sequence[str]:
        warnings = []
        if reasons := validation.dns_label_errors(obj["metadata"].get("name", "")):
            warnings.append(HOSTNAME_WARNING.format(reasons=" ".join(reasons)))
        return warnings + self._spec_warnings(obj)

    def update_warnings(self, new: Object, old: Object, subresource: str) -> Sequence[str]:
        if subresource or not has_new_generation(new, old):
            return ()
        return self._spec_warnings(new)

    def _spec_warnings(self, obj: Object) -> list[str]:
        return job_spec_warnings(obj["spec"]["jobTemplate"].get("spec") or NO_FIELDS, JOB_SPEC)


def _check_spec(spec: Json, errors: Errors) -> None:
    _check_schedule(spec.get("schedule", ""), "spec.schedule", errors)
    check_not_negative(spec.get("startingDeadlineSeconds", 0), "spec.startingDeadlineSeconds", errors)
    if "timeZone" in spec:
        _check_time_zone(spec["timeZone"], "spec.timeZone", errors)
    check_choice(spec.get("concurrencyPolicy"), CONCURRENCY, "spec.concurrencyPolicy", errors)
    _check_job_template(spec["jobTemplate"].get("spec") or NO_FIELDS, errors)
    for name in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        check_not_negative(spec.get(name, 0), f"spec.{name}", errors)


def _check_schedule(schedule: str, path: str, errors: Errors) -> None:
    if not schedule:
        errors.append(field.required(path))
        return
    try:
        parse_schedule(schedule)
    except ScheduleError as error:
        errors.append(field.invalid(path, schedule, str(error)))
    if "TZ" in schedule:
        reason = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        errors.append(field.invalid(path, schedule, reason))


def _check_time_zone(name: str, path: str, errors: Errors) -> None:
    if not name:
        errors.append(field.invalid(path, name, "timeZone must be nil or non-empty string"))
        return
    for part in name.split("/"):
        if part in (".", "..") or part.startswith("-") or not _is_zone_part(part):
            errors.append(field.invalid(path, name, f"unknown time zone {name}"))
            return
    if name.lower() == "local":
        reason = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        errors.append(field.invalid(path, name, reason))
    if why := time_zone_error(name):
        errors.append(field.invalid(path, name, why))


def _check_job_template(spec: Json, errors: Errors) -> None:
    check_job_spec(spec, JOB_SPEC, errors)
    if "selector" in spec:
        reason = "`selector` will be auto-generated"
        errors.append(field.invalid(f"{JOB_SPEC}.selector", go_selector(spec["selector"]), reason))
    if spec.get("manualSelector"):
        errors.append(field.not_supported(f"{JOB_SPEC}.manualSelector", True, ("nil", "false")))


CRON_JOB = CronJobStrategy()
