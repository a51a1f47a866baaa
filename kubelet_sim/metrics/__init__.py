"""The metrics server: usage of the simulated nodes and pods as metrics.k8s.io, for `kubectl top` and autoscalers.

    readings      what nodes and pods used when they were last looked at (pure; `kubelet_sim.usage` has the formula)
    scraper       looks every 15 seconds, by the clock
    objects       NodeMetrics and PodMetrics, lists and tables of them
    documents     discovery and OpenAPI
    application   requests
    registration  the Service and the APIService that lead here

It is a process of its own (`python -m kubelet_sim.metrics`) and keeps nothing: usage follows from the objects in the
API and the clock, whoever plays the nodes and however many processes do.
"""
