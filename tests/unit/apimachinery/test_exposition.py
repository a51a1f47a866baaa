"""Prometheus' text format, as Go's server writes it."""

from __future__ import annotations

from kubeloop.apimachinery.exposition import COUNTER, GAUGE, HISTOGRAM, Family, Histogram, Sample, text


def test_families_are_sorted_and_those_without_samples_left_out() -> None:
    """Labels are sorted too, and values that break a line are escaped."""
    families = [
        Family("b_total", COUNTER, "Counts\nb.", [Sample({"z": 'a"b', "a": "x\\y\nz"}, 3)]),
        Family("a", GAUGE, "Shows a.", [Sample({}, 0.5)]),
        Family("c", GAUGE, "Shows nothing.", []),
    ]

    expected = (
        "# HELP a Shows a.\n# TYPE a gauge\na 0.5\n"
        '# HELP b_total Counts\\nb.\n# TYPE b_total counter\nb_total{a="x\\\\y\\nz",z="a\\"b"} 3\n'
    )
    assert expected == text(families)


def test_a_histogram_counts_what_is_not_above_each_bound() -> None:
    """Buckets add up; a bound itself belongs below it; a coarser view leaves bounds out."""
    histogram = Histogram((0.1, 0.5, 1))
    for seconds in (0.1, 0.2, 0.5, 7):
        histogram.observe(seconds)

    family = Family("t", HISTOGRAM, "Times.", list(histogram.samples({"verb": "GET"})))
    coarse = [sample.value for sample in histogram.samples({}, (0.5,))]

    lines = text([family]).splitlines()[2:]
    assert [
        't_bucket{verb="GET",le="0.1"} 1',
        't_bucket{verb="GET",le="0.5"} 3',
        't_bucket{verb="GET",le="1"} 3',
        't_bucket{verb="GET",le="+Inf"} 4',
        't_sum{verb="GET"} 7.8',
        't_count{verb="GET"} 4',
    ] == lines
    assert [3, 4, 7.8, 4] == coarse
