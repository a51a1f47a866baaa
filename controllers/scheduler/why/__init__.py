"""Why a pod went where it went, or nowhere, and the smallest change that would let it fit: `kubeloop why pod/NAME`.

    cluster      what the scheduler would see now, read once from the API
    explanation  what every plugin says of every node, and which node wins
    remedies     for each plugin: what would silence it on one node
    search       the smallest set of remedies that really lets the pod fit
    report       the same as text and as JSON

Nothing here writes: the scheduler's own framework decides again, on a copy of the cluster as it is now.
"""
