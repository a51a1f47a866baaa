"""The kubelets' own API, as far as the API server asks for it: logs, exec, attach, port-forward. One for all nodes.

    server        connections, who may come in, which path leads where
    exchange      one answer: whole, as a stream, or the connection itself
    pods          pods, their containers and runs as the API shows them; who waits for changes
    logs          /containerLogs
    remote        /exec, /attach
    driving       scripts in real time, with somebody's streams at their ends
    consoles      shells that containers themselves run, for who attaches to them
    port_forward  /portForward, in frames of SPDY (spdy_forwarding, spdy) or channels (channel_forwarding)
    pod_proxy     /podProxy: what a pod answers on a port, for the API server's own proxies
    node_pages    /healthz, /pods, /metrics, /stats (node_usage): what a kubelet says of its node
    streams       their protocol over a WebSocket (websocket)
    recorded_logs, real_remote, tunnels   the same for containers that really run (kubelet_sim/process)
    container_world, cluster   what a shell in a container sees of it, and of others
    access        who may ask

The paths and words are those of pkg/kubelet/server/server.go (v1.36).
"""
